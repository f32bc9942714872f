-- Who decided about a call that needed a person's approval, and what. Both are empty for a call that needed none.

ALTER TABLE tool_calls ADD COLUMN decision TEXT NOT NULL DEFAULT '';

ALTER TABLE tool_calls ADD COLUMN decided_by TEXT NOT NULL DEFAULT '';
