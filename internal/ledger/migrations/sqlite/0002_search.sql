-- Full-text search, which an operator may turn off: then these tables are empty. They are an index of events and can be filled again from them.

-- How far the events of an agent are indexed, and the approximate bytes of its index. An append indexes its events if those before it are.
CREATE TABLE search_agents (
    agent INTEGER NOT NULL PRIMARY KEY,
    seq   INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT;

-- An event with words, and its number in the index.
CREATE TABLE search_entries (
    id    INTEGER PRIMARY KEY,
    agent INTEGER NOT NULL,
    seq   INTEGER NOT NULL,
    at    INTEGER NOT NULL,
    UNIQUE (agent, seq)
) STRICT;

-- The index has the words and not the text, which is in the event. The operator divides texts into words, which contain no ASCII character
-- except for letters and digits: the tokenizer keeps them as they are.
CREATE VIRTUAL TABLE search_index USING fts5(words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

CREATE TRIGGER search_entries_deleted AFTER DELETE ON search_entries BEGIN DELETE FROM search_index WHERE rowid = old.id; END;
