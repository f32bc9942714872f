-- Who may append. An append carries the epoch of its writer, and one with an old epoch is refused.

CREATE TABLE shards (
    shard     INTEGER NOT NULL PRIMARY KEY,
    epoch     INTEGER NOT NULL,
    holder    TEXT NOT NULL,
    taken_at  INTEGER NOT NULL,
    released  INTEGER NOT NULL DEFAULT 0,
    -- What another operator asks of the holder, and the newest request that it has seen.
    request   TEXT NOT NULL DEFAULT '',
    hand_over INTEGER NOT NULL DEFAULT 0,
    answered  TEXT NOT NULL DEFAULT ''
) STRICT;
