-- A fork begins with the events of another agent, its origin, which are stored once. An expired agent keeps its rows while it has forks.

-- The UID of the origin, which may be a fork itself; empty for other agents.
ALTER TABLE agents ADD COLUMN origin_uid TEXT NOT NULL DEFAULT '';

-- The last event of the origin that is one of the agent; 0 if there is none. The agent's own events follow it.
ALTER TABLE agents ADD COLUMN origin_seq BIGINT NOT NULL DEFAULT 0;

CREATE INDEX agents_by_origin ON agents (origin_uid) WHERE origin_uid <> '';
