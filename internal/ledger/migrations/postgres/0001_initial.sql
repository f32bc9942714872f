-- The first schema of the ledger. Times are microseconds since 1970 in UTC, durations microseconds.
-- Every statement ends with a semicolon at the end of a line, and no other line ends with one.
-- There are no foreign keys: an append holds the row of its agent in the same transaction.

CREATE TABLE agents (
    uid         TEXT NOT NULL PRIMARY KEY,
    kind        TEXT NOT NULL,
    namespace   TEXT NOT NULL,
    name        TEXT NOT NULL,
    parent_uid  TEXT NOT NULL,
    root_uid    TEXT NOT NULL,
    chat        TEXT NOT NULL,
    role        TEXT NOT NULL,
    depth       INTEGER NOT NULL,
    provider    TEXT NOT NULL,
    model       TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    last_seq    BIGINT NOT NULL DEFAULT 0,
    status      TEXT NOT NULL DEFAULT 'Running',
    error_kind  TEXT NOT NULL DEFAULT '',
    finished_at BIGINT,
    -- Set when retention takes the agent; from then on it cannot be found, and its rows go in small steps.
    expired_at  BIGINT
);

CREATE INDEX agents_by_creation ON agents (created_at, uid);

CREATE INDEX agents_by_root ON agents (root_uid, created_at, uid);

CREATE INDEX agents_by_name ON agents (namespace, name);

CREATE INDEX agents_live ON agents (created_at, uid) WHERE finished_at IS NULL;

CREATE INDEX agents_finished ON agents (finished_at) WHERE finished_at IS NOT NULL AND expired_at IS NULL;

CREATE INDEX agents_expired ON agents (uid) WHERE expired_at IS NOT NULL;

CREATE TABLE events (
    agent_uid TEXT NOT NULL,
    seq       BIGINT NOT NULL,
    type      TEXT NOT NULL,
    at        BIGINT NOT NULL,
    data      JSON NOT NULL,
    PRIMARY KEY (agent_uid, seq)
);

CREATE TABLE snapshots (
    agent_uid TEXT NOT NULL PRIMARY KEY,
    seq       BIGINT NOT NULL,
    data      JSON NOT NULL
);

CREATE TABLE model_calls (
    key               TEXT NOT NULL PRIMARY KEY,
    parent_key        TEXT NOT NULL,
    agent_uid         TEXT NOT NULL,
    seq               BIGINT NOT NULL,
    namespace         TEXT NOT NULL,
    root_uid          TEXT NOT NULL,
    chat              TEXT NOT NULL,
    role              TEXT NOT NULL,
    depth             INTEGER NOT NULL,
    iteration         INTEGER NOT NULL,
    provider          TEXT NOT NULL,
    model             TEXT NOT NULL,
    request_type      TEXT NOT NULL,
    system_prompt     TEXT NOT NULL,
    context_mode      TEXT NOT NULL,
    context_tokens    BIGINT,
    max_iterations    INTEGER NOT NULL,
    max_duration      BIGINT NOT NULL,
    metadata          JSON,
    started_at        BIGINT NOT NULL,
    status            TEXT NOT NULL DEFAULT 'Running',
    summary           TEXT NOT NULL DEFAULT '',
    tool_calls        JSON,
    files             JSON,
    -- NULL means that nobody knows, which is not zero.
    prompt_tokens     BIGINT,
    cached_tokens     BIGINT,
    completion_tokens BIGINT,
    total_tokens      BIGINT GENERATED ALWAYS AS (prompt_tokens + completion_tokens) STORED,
    cost_micros       BIGINT,
    bailout           TEXT NOT NULL DEFAULT '',
    error             TEXT NOT NULL DEFAULT '',
    finished_at       BIGINT,
    duration          BIGINT GENERATED ALWAYS AS (finished_at - started_at) STORED,
    -- The large columns stand last, so that reading the others does not walk over them.
    request           JSON NOT NULL,
    response          JSON
);

CREATE INDEX model_calls_by_agent ON model_calls (agent_uid, started_at, key);

CREATE INDEX model_calls_by_parent ON model_calls (parent_key);

CREATE INDEX model_calls_by_root ON model_calls (root_uid, started_at, key);

CREATE INDEX model_calls_by_namespace ON model_calls (namespace, started_at);

CREATE INDEX model_calls_by_start ON model_calls (started_at, key);

CREATE INDEX model_calls_open ON model_calls (agent_uid, started_at, key) WHERE finished_at IS NULL;

CREATE TABLE tool_calls (
    key         TEXT NOT NULL PRIMARY KEY,
    call_id     TEXT NOT NULL,
    agent_uid   TEXT NOT NULL,
    seq         BIGINT NOT NULL,
    model_call  TEXT NOT NULL,
    tool        TEXT NOT NULL,
    arguments   TEXT NOT NULL,
    repeatable  BOOLEAN NOT NULL,
    started_at  BIGINT NOT NULL,
    status      TEXT NOT NULL DEFAULT 'Running',
    error       TEXT NOT NULL DEFAULT '',
    finished_at BIGINT,
    duration    BIGINT GENERATED ALWAYS AS (finished_at - started_at) STORED,
    output      BYTEA
);

CREATE INDEX tool_calls_by_agent ON tool_calls (agent_uid, started_at, key);

CREATE INDEX tool_calls_by_call_id ON tool_calls (agent_uid, call_id, started_at, key);

CREATE INDEX tool_calls_open ON tool_calls (agent_uid, started_at, key) WHERE finished_at IS NULL;
