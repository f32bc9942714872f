-- The schema of the ledger. Times are microseconds since 1970 in UTC, durations microseconds.
-- Every statement ends with a semicolon at the end of a line, and no other line ends with one.
-- There are no foreign keys: an append holds the row of its agent in the same transaction.

CREATE TABLE agents (
    -- The number of the agent in the rows of its events and calls. It is never used again.
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    uid           TEXT NOT NULL UNIQUE,
    kind          TEXT NOT NULL,
    namespace     TEXT NOT NULL,
    -- The UID of the namespace: a namespace that is created again does not show the history of the old one.
    namespace_uid TEXT NOT NULL,
    name          TEXT NOT NULL,
    parent_uid    TEXT NOT NULL,
    root_uid      TEXT NOT NULL,
    chat          TEXT NOT NULL,
    role          TEXT NOT NULL,
    depth         INTEGER NOT NULL,
    provider      TEXT NOT NULL,
    model         TEXT NOT NULL,
    -- The hash of the agent's tree, which decides its shard.
    shard_hash    INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    last_seq      INTEGER NOT NULL DEFAULT 0,
    -- The approximate number of the agent's bytes in the ledger, updated by each append in a row that is written anyway.
    bytes         INTEGER NOT NULL DEFAULT 0,
    status        TEXT NOT NULL DEFAULT 'Running',
    error_kind    TEXT NOT NULL DEFAULT '',
    finished_at   INTEGER,
    -- Set when retention expires the agent. From then on it cannot be found, and its rows are deleted in small steps.
    expired_at    INTEGER
) STRICT;

CREATE INDEX agents_by_creation ON agents (created_at, uid);

CREATE INDEX agents_by_root ON agents (root_uid, created_at, uid);

CREATE INDEX agents_by_name ON agents (namespace, name);

CREATE INDEX agents_live ON agents (created_at, uid) WHERE finished_at IS NULL;

-- An operator that takes over a shard reads its live agents.
CREATE INDEX agents_live_by_shard ON agents (shard_hash) WHERE finished_at IS NULL;

CREATE INDEX agents_finished ON agents (finished_at) WHERE finished_at IS NOT NULL AND expired_at IS NULL;

CREATE INDEX agents_expired ON agents (uid) WHERE expired_at IS NOT NULL;

-- A text is stored once: in the event that contains it first. Requests, replies, snapshots and outputs refer to strings of the agent's events,
-- and a request is stored as an edit of the previous one in its chain. A form of 0 means that there are no references, and 1 that there are.
--
-- Rows have the number of their agent, which takes 3 bytes where its UID takes 37. The views events, model_calls and tool_calls have the UIDs.

CREATE TABLE event_rows (
    agent INTEGER NOT NULL,
    seq   INTEGER NOT NULL,
    type  TEXT NOT NULL,
    at    INTEGER NOT NULL,
    -- 1 if data is the fact of an event, and 0 if it is the whole event.
    form  INTEGER NOT NULL,
    data  TEXT NOT NULL,
    PRIMARY KEY (agent, seq)
) STRICT;

CREATE TABLE snapshots (
    agent_uid TEXT NOT NULL PRIMARY KEY,
    seq       INTEGER NOT NULL,
    form      INTEGER NOT NULL,
    data      TEXT NOT NULL
) STRICT;

CREATE TABLE model_call_rows (
    agent             INTEGER NOT NULL,
    -- A key UID/model/CALL/ATTEMPT of the agent itself is stored as /CALL/ATTEMPT, and any other key as it is.
    key               TEXT NOT NULL,
    parent_key        TEXT NOT NULL,
    seq               INTEGER NOT NULL,
    namespace         TEXT NOT NULL,
    role              TEXT NOT NULL,
    iteration         INTEGER NOT NULL,
    provider          TEXT NOT NULL,
    model             TEXT NOT NULL,
    request_type      TEXT NOT NULL,
    system_prompt     TEXT NOT NULL,
    context_mode      TEXT NOT NULL,
    context_tokens    INTEGER,
    max_iterations    INTEGER NOT NULL,
    max_duration      INTEGER NOT NULL,
    started_at        INTEGER NOT NULL,
    status            TEXT NOT NULL DEFAULT 'Running',
    summary           TEXT NOT NULL DEFAULT '',
    tool_calls        TEXT,
    files             TEXT,
    -- NULL means that the usage is unknown, which is not zero.
    prompt_tokens     INTEGER,
    cached_tokens     INTEGER,
    completion_tokens INTEGER,
    -- The part of the completion tokens that was reasoning.
    reasoning_tokens  INTEGER,
    cost_micros       INTEGER,
    currency          TEXT NOT NULL DEFAULT '',
    bailout           TEXT NOT NULL DEFAULT '',
    error             TEXT NOT NULL DEFAULT '',
    finished_at       INTEGER,
    -- When the body was deleted because of its age. The rest shows that there was a call, and its usage.
    pruned_at         INTEGER,
    -- Bits: 1 if the request has references, 2 if it has {"$calls":0} instead of the tool calls of the previous call in its chain.
    request_form      INTEGER NOT NULL,
    -- The seq of the chain's first call, and the place in the chain. The request at place 0 is whole. NULL for a request that is not in a chain.
    -- A request that is an edit and ends with 0 ends with the key of its row.
    request_chain     INTEGER,
    request_place     INTEGER,
    -- Bits: 1 if the response has references, 2 if the tool calls have, 4 if the response has {"$calls":0} instead of its tool calls, which are
    -- those in tool_calls, 8 if it has 0 instead of its usage, which is that in the columns.
    result_form       INTEGER NOT NULL DEFAULT 0,
    -- What was sent to the provider: the SHA-256 of the HTTP body, and as JSON the parameters except for the model, or NULL if there are none.
    body_digest       BLOB,
    sent              TEXT,
    -- The large columns are last, so that reading the others does not read them.
    request           TEXT NOT NULL,
    response          TEXT,
    PRIMARY KEY (agent, key)
) STRICT;

-- Half of the cost of an append is indexes. Calls with the same time are few, so that sorting them needs no key in an index; the calls of a tree
-- are found by its agents, and open calls among those of their agent.

CREATE INDEX model_calls_by_agent ON model_call_rows (agent, started_at);

-- Keys that are stored as they are must be unique too.
CREATE UNIQUE INDEX model_calls_by_key ON model_call_rows (key) WHERE substr(key, 1, 1) <> '/';

CREATE INDEX model_calls_by_parent ON model_call_rows (parent_key) WHERE parent_key <> '';

CREATE INDEX model_calls_by_namespace ON model_call_rows (namespace, started_at);

CREATE INDEX model_calls_by_start ON model_call_rows (started_at);

-- Requests that cannot be read any more, and that later ones may be edits of.
CREATE INDEX model_calls_waiting ON model_call_rows (agent, request_chain) WHERE pruned_at IS NOT NULL AND request_chain IS NOT NULL;

CREATE TABLE tool_call_rows (
    agent         INTEGER NOT NULL,
    -- A key UID/tool/CALL/ID of the agent itself is stored as /CALL/ID, and its model call UID/model/CALL/ATTEMPT as /CALL/ATTEMPT.
    key           TEXT NOT NULL,
    call_id       TEXT NOT NULL,
    seq           INTEGER NOT NULL,
    model_call    TEXT NOT NULL,
    tool          TEXT NOT NULL,
    arguments     TEXT NOT NULL,
    repeatable    INTEGER NOT NULL,
    -- The decision of a person about the call; both are empty for a call that needed none.
    decision      TEXT NOT NULL DEFAULT '',
    decided_by    TEXT NOT NULL DEFAULT '',
    started_at    INTEGER NOT NULL,
    status        TEXT NOT NULL DEFAULT 'Running',
    error         TEXT NOT NULL DEFAULT '',
    finished_at   INTEGER,
    pruned_at     INTEGER,
    -- Where the text is in the agent's events if the column itself is empty: seq, offset and length.
    arguments_ref TEXT,
    output_ref    TEXT,
    output_size   INTEGER,
    output        BLOB,
    PRIMARY KEY (agent, key)
) STRICT;

CREATE INDEX tool_calls_by_agent ON tool_call_rows (agent, started_at);

CREATE UNIQUE INDEX tool_calls_by_key ON tool_call_rows (key) WHERE substr(key, 1, 1) <> '/';

-- The record as people read it.

CREATE VIEW events AS
SELECT a.uid AS agent_uid, e.seq, e.type, e.at, e.form, e.data, e.agent
FROM event_rows e LEFT JOIN agents a ON a.id = e.agent;

CREATE VIEW model_calls AS
SELECT CASE WHEN substr(c.key, 1, 1) = '/' THEN a.uid || '/model' || c.key ELSE c.key END AS key,
    c.parent_key, a.uid AS agent_uid, c.seq, c.namespace, a.namespace_uid, a.root_uid, a.chat, c.role, a.depth, c.iteration, c.provider, c.model,
    c.request_type, c.system_prompt, c.context_mode, c.context_tokens, c.max_iterations, c.max_duration, c.started_at, c.status, c.summary,
    c.tool_calls, c.files, c.prompt_tokens, c.cached_tokens, c.completion_tokens, c.reasoning_tokens,
    c.prompt_tokens + c.completion_tokens AS total_tokens, c.cost_micros, c.currency, c.bailout, c.error, c.finished_at,
    c.finished_at - c.started_at AS duration, c.pruned_at, c.request_form, c.request_chain, c.request_place, c.result_form,
    lower(hex(c.body_digest)) AS body_digest, c.sent,
    c.request, c.response, c.agent, c.key AS row_key
FROM model_call_rows c LEFT JOIN agents a ON a.id = c.agent;

CREATE VIEW tool_calls AS
SELECT CASE WHEN substr(c.key, 1, 1) = '/' THEN a.uid || '/tool' || c.key ELSE c.key END AS key,
    c.call_id, a.uid AS agent_uid, c.seq,
    CASE WHEN substr(c.model_call, 1, 1) = '/' THEN a.uid || '/model' || c.model_call ELSE c.model_call END AS model_call,
    c.tool, c.arguments, c.repeatable, c.decision, c.decided_by, c.started_at, c.status, c.error, c.finished_at,
    c.finished_at - c.started_at AS duration, c.pruned_at, c.arguments_ref, c.output_ref, c.output_size, c.output, c.agent, c.key AS row_key
FROM tool_call_rows c LEFT JOIN agents a ON a.id = c.agent;

-- Images that tools returned, once for each content, and the agents whose events refer to them. An image is deleted with the last of them.

CREATE TABLE images (
    digest     TEXT NOT NULL PRIMARY KEY,
    media_type TEXT NOT NULL,
    -- When an agent last began to refer to it: retention must not race with that.
    used_at    INTEGER NOT NULL,
    data       BLOB NOT NULL
) STRICT;

CREATE TABLE image_uses (
    agent_uid TEXT NOT NULL,
    digest    TEXT NOT NULL,
    PRIMARY KEY (agent_uid, digest)
) STRICT;

CREATE INDEX image_uses_by_digest ON image_uses (digest);

-- The usage of model calls in namespaces that have an AgentQuota. Every writer of these counts locks the row of its namespace.

CREATE TABLE quota_namespaces (
    namespace  TEXT NOT NULL PRIMARY KEY,
    uid        TEXT NOT NULL DEFAULT '',
    settled_at INTEGER NOT NULL
) STRICT;

-- The usage of finished calls, by the hour in which they started and the currency of their prices, which is empty if it is unknown.
CREATE TABLE quota_usage (
    namespace   TEXT NOT NULL,
    hour        INTEGER NOT NULL,
    currency    TEXT NOT NULL,
    tokens      INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL,
    PRIMARY KEY (namespace, hour, currency)
) STRICT;

-- The possible usage of open calls. The next writer moves a row whose call has a result to quota_usage.
CREATE TABLE quota_reservations (
    key         TEXT NOT NULL PRIMARY KEY,
    -- The row of the call: its agent, which is 0 if there is no such call, and its key there.
    agent       INTEGER NOT NULL,
    row_key     TEXT NOT NULL,
    namespace   TEXT NOT NULL,
    hour        INTEGER NOT NULL,
    currency    TEXT NOT NULL,
    tokens      INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL
) STRICT;

CREATE INDEX quota_reservations_by_namespace ON quota_reservations (namespace, hour);

CREATE INDEX quota_reservations_by_call ON quota_reservations (agent, row_key);

-- Which operator may append. An append has the epoch of its writer, and one with an old epoch is refused.

CREATE TABLE shards (
    shard     INTEGER NOT NULL PRIMARY KEY,
    epoch     INTEGER NOT NULL,
    holder    TEXT NOT NULL,
    taken_at  INTEGER NOT NULL,
    released  INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The operators of the ledger. One keeps its shards until expires_at, by the clock of the database. changed_at is when its state changed.
CREATE TABLE replicas (
    id          TEXT NOT NULL PRIMARY KEY,
    name        TEXT NOT NULL,
    address     TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    state       TEXT NOT NULL,
    changed_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL
) STRICT;

-- Numbers that all operators must agree on. shards is the number of shards into which the trees are divided.
CREATE TABLE settings (
    name  TEXT NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;

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

-- What was changed in a workspace when it was last stopped, one row for each chat or standalone task. The summary is JSON; the archive
-- is empty if nothing was changed, and if the changes could not be saved.

CREATE TABLE workspace_changes (
    owner_uid   TEXT NOT NULL PRIMARY KEY,
    -- The agent at the top of the owner's tree. It determines the namespace whose quota the changes count in, and how long they are kept.
    agent_uid   TEXT NOT NULL,
    source      TEXT NOT NULL,
    captured_at INTEGER NOT NULL,
    summary     TEXT NOT NULL,
    archive     BLOB NOT NULL
) STRICT;
