-- What model calls use in namespaces that have an AgentQuota. The row of a namespace is locked by everyone who counts in it.

CREATE TABLE quota_namespaces (
    namespace  TEXT NOT NULL PRIMARY KEY,
    settled_at BIGINT NOT NULL
);

-- What finished calls used, by the hour in which they started.
CREATE TABLE quota_usage (
    namespace   TEXT NOT NULL,
    hour        BIGINT NOT NULL,
    tokens      BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    PRIMARY KEY (namespace, hour)
);

-- What open calls may use. A row whose call has a result is moved to quota_usage by whoever counts next.
CREATE TABLE quota_reservations (
    key         TEXT NOT NULL PRIMARY KEY,
    namespace   TEXT NOT NULL,
    hour        BIGINT NOT NULL,
    tokens      BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL
);

CREATE INDEX quota_reservations_by_namespace ON quota_reservations (namespace, hour);
