-- The UID of the namespace: a namespace that is created again does not show the history of the old one. Rows of earlier releases have
-- none and count by their time.

ALTER TABLE agents ADD COLUMN namespace_uid TEXT NOT NULL DEFAULT '';

ALTER TABLE model_calls ADD COLUMN namespace_uid TEXT NOT NULL DEFAULT '';

ALTER TABLE quota_namespaces ADD COLUMN uid TEXT NOT NULL DEFAULT '';

-- About how many bytes of the ledger are the agent's. It is counted with each append, in a row that is written anyway.
ALTER TABLE agents ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;

-- When the body of a call was deleted because of its age. What remains says that there was a call, and what it used.
ALTER TABLE model_calls ADD COLUMN pruned_at INTEGER;

ALTER TABLE tool_calls ADD COLUMN pruned_at INTEGER;
