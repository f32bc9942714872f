// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"strings"

	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
	"github.com/nestor-dev/nestor/internal/words"
)

const (
	insertEntry = `INSERT INTO search_entries (agent, seq, at) SELECT $1, $2, $3 FROM search_agents WHERE agent = $1 AND seq = $4`
	insertWords = `INSERT INTO search_index (rowid, words) SELECT e.id, $1 FROM search_entries e JOIN search_agents s ON s.agent = e.agent
	WHERE e.agent = $2 AND e.seq = $3 AND s.seq = $4`
)

// IndexEntry implements sqlstore.Driver.
func (d *database) IndexEntry(agent, seq, at, last int64, list []string) []sqlstore.Statement {
	return []sqlstore.Statement{
		{SQL: insertEntry, Args: []any{agent, seq, at, last}},
		{SQL: insertWords, Args: []any{strings.Join(list, " "), agent, seq, last}},
	}
}

// Matching implements sqlstore.Driver. A word contains no character of the syntax of FTS5 outside quotes.
func (d *database) Matching(terms []words.Term) (func(string) string, any) {
	quoted := make([]string, len(terms))
	for i, t := range terms {
		quoted[i] = `"` + t.Text + `"`
		if t.Prefix {
			quoted[i] += "*"
		}
	}
	condition := func(placeholder string) string {
		return "id IN (SELECT rowid FROM search_index WHERE search_index MATCH " + placeholder + ")"
	}
	return condition, strings.Join(quoted, " ")
}
