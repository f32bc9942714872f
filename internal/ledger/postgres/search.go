// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"strings"

	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
	"github.com/nestor-dev/nestor/internal/words"
)

const insertEntry = `INSERT INTO search_entries (agent, seq, at, words)
	SELECT $1::bigint, $2::bigint, $3::bigint, array_to_tsvector($5::text[]) FROM search_agents WHERE agent = $1 AND seq = $4`

// IndexEntry implements sqlstore.Driver.
func (d *database) IndexEntry(agent, seq, at, last int64, list []string) []sqlstore.Statement {
	return []sqlstore.Statement{{SQL: insertEntry, Args: []any{agent, seq, at, last, list}}}
}

// Matching implements sqlstore.Driver. A word contains no quote and no backslash.
func (d *database) Matching(terms []words.Term) (func(string) string, any) {
	quoted := make([]string, len(terms))
	for i, t := range terms {
		quoted[i] = "'" + t.Text + "'"
		if t.Prefix {
			quoted[i] += ":*"
		}
	}
	return func(placeholder string) string { return "words @@ (" + placeholder + "::text)::tsquery" }, strings.Join(quoted, " & ")
}
