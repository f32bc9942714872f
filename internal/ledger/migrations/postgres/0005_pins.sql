-- Until when retention keeps the agent, in microseconds: an evaluation uses its history. NULL without one.
ALTER TABLE agents ADD COLUMN pinned_until BIGINT;
