-- What was changed in a workspace when it was last stopped, one row for each chat or standalone task. The summary is JSON; the archive
-- is empty if nothing was changed, and if the changes could not be kept.

CREATE TABLE workspace_changes (
    owner_uid   TEXT NOT NULL PRIMARY KEY,
    source      TEXT NOT NULL,
    captured_at INTEGER NOT NULL,
    summary     TEXT NOT NULL,
    archive     BLOB NOT NULL
) STRICT;
