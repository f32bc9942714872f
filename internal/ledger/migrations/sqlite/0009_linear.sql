-- A text is kept once: in the event that brought it. Requests, replies, snapshots and outputs refer to strings of the agent's events, and
-- a request is kept as an edit of the one before it in its chain. A form of NULL is a row of an earlier release that nobody has looked
-- at yet, 0 one that is as it was written, and 1 one with references.

ALTER TABLE model_calls ADD COLUMN request_form INTEGER;

-- The seq of the chain's first call, and the place in the chain. The request at place 0 is whole. NULL for a request that stands alone.
ALTER TABLE model_calls ADD COLUMN request_chain INTEGER;

ALTER TABLE model_calls ADD COLUMN request_place INTEGER;

-- 1 if the response has references, 2 if the tool calls have, 3 if both do.
ALTER TABLE model_calls ADD COLUMN result_form INTEGER NOT NULL DEFAULT 0;

-- Where the text is in the agent's events, if the column itself is empty: seq, offset and length.
ALTER TABLE tool_calls ADD COLUMN arguments_ref TEXT;

ALTER TABLE tool_calls ADD COLUMN output_ref TEXT;

ALTER TABLE tool_calls ADD COLUMN output_size INTEGER;

ALTER TABLE snapshots ADD COLUMN form INTEGER NOT NULL DEFAULT 0;

-- Set when the calls of an agent that an earlier release wrote have been looked at.
ALTER TABLE agents ADD COLUMN linear_at INTEGER;

CREATE INDEX agents_not_linear ON agents (uid) WHERE linear_at IS NULL;

-- The calls of an agent are found by its other index. This one cost a tenth of what a turn writes.
DROP INDEX tool_calls_by_call_id;

-- Requests that nobody can read any more, and that later ones may be edits of.
CREATE INDEX model_calls_waiting ON model_calls (agent_uid, request_chain) WHERE pruned_at IS NOT NULL AND request_chain IS NOT NULL;
