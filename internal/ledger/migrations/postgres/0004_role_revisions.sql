-- The digest of the role that the agent has; empty for an agent of an earlier release.
ALTER TABLE agents ADD COLUMN role_revision TEXT NOT NULL DEFAULT '';
