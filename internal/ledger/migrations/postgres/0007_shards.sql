-- Who may append. An append carries the epoch of its writer, and one with an old epoch is refused.

CREATE TABLE shards (
    shard     BIGINT NOT NULL PRIMARY KEY,
    epoch     BIGINT NOT NULL,
    holder    TEXT NOT NULL,
    taken_at  BIGINT NOT NULL,
    released  BOOLEAN NOT NULL DEFAULT FALSE,
    -- What another operator asks of the holder, and the newest request that it has seen.
    request   TEXT NOT NULL DEFAULT '',
    hand_over BOOLEAN NOT NULL DEFAULT FALSE,
    answered  TEXT NOT NULL DEFAULT ''
);
