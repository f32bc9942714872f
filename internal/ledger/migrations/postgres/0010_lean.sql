-- What a turn writes besides its texts. Rows with the same time are few, so that sorting them needs no key in an index, and the calls of a
-- tree are found by its agents.
--
-- In result_form, 4 says that the response has {"$calls":0} in place of its tool calls, which are those in tool_calls. A request that is an
-- edit and ends with 0 ends with the key of its row.

DROP INDEX model_calls_by_root;

DROP INDEX model_calls_by_agent;

CREATE INDEX model_calls_by_agent ON model_calls (agent_uid, started_at);

DROP INDEX model_calls_by_start;

CREATE INDEX model_calls_by_start ON model_calls (started_at);

DROP INDEX tool_calls_by_agent;

CREATE INDEX tool_calls_by_agent ON tool_calls (agent_uid, started_at);
