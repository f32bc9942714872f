-- How limits are divided among operators: what an operator may use of a resource until expires_at, by the clock of the database.

CREATE TABLE shares (
    resource   TEXT NOT NULL,
    replica    TEXT NOT NULL,
    amount     INTEGER NOT NULL,
    -- What the operator reports about its use, for the others.
    demand     BLOB NOT NULL,
    written_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (resource, replica)
) STRICT;
