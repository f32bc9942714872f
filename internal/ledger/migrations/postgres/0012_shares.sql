-- How limits are divided among operators: what an operator may use of a resource until expires_at, by the clock of the database.

CREATE TABLE shares (
    resource   TEXT NOT NULL,
    replica    TEXT NOT NULL,
    amount     BIGINT NOT NULL,
    -- What the operator reports about its use, for the others.
    demand     BYTEA NOT NULL,
    written_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (resource, replica)
);
