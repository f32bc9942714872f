-- The hash of the agent's tree, which decides its shard. NULL: recorded by an earlier release.

ALTER TABLE agents ADD COLUMN shard_hash INTEGER;

-- An operator that takes over a shard reads its live agents.
CREATE INDEX agents_live_by_shard ON agents (shard_hash) WHERE finished_at IS NULL;

-- Numbers that all operators must agree on. shards is the number of shards into which the trees are divided.
CREATE TABLE settings (
    name  TEXT NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;
