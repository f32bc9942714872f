-- Half of what an append costs is indexes. The calls of one agent that are open are found by the index of its calls: they are few, and
-- looked for only when an operator starts or an object is deleted. A call without a parent is never looked for by it.

DROP INDEX model_calls_open;

DROP INDEX tool_calls_open;

DROP INDEX model_calls_by_parent;

CREATE INDEX model_calls_by_parent ON model_calls (parent_key) WHERE parent_key <> '';
