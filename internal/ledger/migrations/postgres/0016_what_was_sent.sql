-- What was sent to the provider that served a model call, as JSON: the digest of the HTTP body and the parameters. NULL: nothing was sent, or
-- an earlier release made the call.

ALTER TABLE model_calls ADD COLUMN sent TEXT;

-- The agent at the top of the tree of a workspace's owner. It tells the namespace whose quota the changes count in, and until when they are
-- kept. In rows of earlier releases it is the owner, which is right for chats.

ALTER TABLE workspace_changes ADD COLUMN agent_uid TEXT NOT NULL DEFAULT '';

UPDATE workspace_changes SET agent_uid = owner_uid;
