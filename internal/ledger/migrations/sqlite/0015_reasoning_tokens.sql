-- How many of the completion tokens were reasoning. NULL: the provider reported no usage, or an earlier release made the call.

ALTER TABLE model_calls ADD COLUMN reasoning_tokens INTEGER;
