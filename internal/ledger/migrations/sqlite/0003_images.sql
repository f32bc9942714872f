-- Images that tools returned, once for each content, and the agents whose events refer to them. An image goes with the last of them.

CREATE TABLE images (
    digest     TEXT NOT NULL PRIMARY KEY,
    media_type TEXT NOT NULL,
    -- When an agent last came to refer to it: retention does not race with one that does so this moment.
    used_at    INTEGER NOT NULL,
    data       BLOB NOT NULL
) STRICT;

CREATE TABLE image_uses (
    agent_uid TEXT NOT NULL,
    digest    TEXT NOT NULL,
    PRIMARY KEY (agent_uid, digest)
) STRICT;

CREATE INDEX image_uses_by_digest ON image_uses (digest);
