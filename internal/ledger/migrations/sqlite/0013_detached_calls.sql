-- Calls that continue in the operator that owned the shard of their agent before. It extends expires_at, by the clock of the
-- database, and passes the result to the new owner.

CREATE TABLE detached_calls (
    key        TEXT NOT NULL PRIMARY KEY,
    agent_uid  TEXT NOT NULL,
    shard      INTEGER NOT NULL,
    replica    TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    result     BLOB
) STRICT;

CREATE INDEX detached_calls_by_shard ON detached_calls (shard, key);
