-- Full-text search, which an operator may turn off: then these tables are empty. They are an index of events and can be filled again from them.

-- How far the events of an agent are indexed, and the approximate bytes of its index. An append indexes its events if those before it are.
CREATE TABLE search_agents (
    agent BIGINT NOT NULL PRIMARY KEY,
    seq   BIGINT NOT NULL,
    bytes BIGINT NOT NULL
);

-- An event with its words, but not its text. The operator divides texts into words.
CREATE TABLE search_entries (
    agent BIGINT NOT NULL,
    seq   BIGINT NOT NULL,
    at    BIGINT NOT NULL,
    words TSVECTOR NOT NULL,
    PRIMARY KEY (agent, seq)
);

CREATE INDEX search_entries_by_word ON search_entries USING GIN (words);
