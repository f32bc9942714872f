-- What model calls use in namespaces that have an AgentQuota. The row of a namespace is locked by everyone who counts in it.

CREATE TABLE quota_namespaces (
    namespace  TEXT NOT NULL PRIMARY KEY,
    settled_at INTEGER NOT NULL
) STRICT;

-- What finished calls used, by the hour in which they started.
CREATE TABLE quota_usage (
    namespace   TEXT NOT NULL,
    hour        INTEGER NOT NULL,
    tokens      INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL,
    PRIMARY KEY (namespace, hour)
) STRICT;

-- What open calls may use. A row whose call has a result is moved to quota_usage by whoever counts next.
CREATE TABLE quota_reservations (
    key         TEXT NOT NULL PRIMARY KEY,
    namespace   TEXT NOT NULL,
    hour        INTEGER NOT NULL,
    tokens      INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL
) STRICT;

CREATE INDEX quota_reservations_by_namespace ON quota_reservations (namespace, hour);
