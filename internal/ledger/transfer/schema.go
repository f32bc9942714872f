// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// progressTable records in the target how far a transfer is.
const progressTable = "unfinished_transfer"

// searchPrefix begins the names of the tables of the search index, which the operator fills again from the events.
const searchPrefix = "search_"

// notCopied are tables whose rows belong to the database, or to the operators that run on it.
var notCopied = map[string]bool{
	"schema_migrations": true, progressTable: true,
	"shards": true, "replicas": true, "settings": true, "shares": true, "detached_calls": true,
}

// table is a table of the schema, with its columns by name.
type table struct {
	name string
	// types are the types of all columns; key are the columns of the primary key in order.
	types map[string]string
	key   []string
}

// columns returns the columns in the order in which rows are read, written and hashed.
func (t table) columns() []string { return slices.Sorted(maps.Keys(t.types)) }

func readTables(ctx context.Context, db sqlstore.Driver) (map[string]table, error) {
	rows, err := db.Reader().QueryContext(ctx, db.Dialect().Columns)
	if err != nil {
		return nil, sqlstore.Fail(db, "read the schema", err)
	}
	defer func() { _ = rows.Close() }() // Err reports the error
	tables := map[string]table{}
	for rows.Next() {
		var name, column, kind string
		var position int
		if err := rows.Scan(&name, &column, &kind, &position); err != nil {
			return nil, sqlstore.Fail(db, "read the schema", err)
		}
		if strings.HasPrefix(name, searchPrefix) {
			continue
		}
		t, ok := tables[name]
		if !ok {
			t = table{name: name, types: map[string]string{}}
		}
		t.types[column] = kind
		if position > 0 {
			t.key = append(t.key, make([]string, max(0, position-len(t.key)))...)
			t.key[position-1] = column
		}
		tables[name] = t
	}
	return tables, sqlstore.Fail(db, "read the schema", rows.Err())
}

// pair is a table in the source and in the target.
type pair struct{ from, to table }

// match returns the tables to copy. Both ledgers have the schema of this program, so a difference is an error of the
// program.
func match(from, to map[string]table) ([]pair, error) {
	var pairs []pair
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if notCopied[name] {
			continue
		}
		source, target := from[name], to[name]
		if !slices.Equal(source.columns(), target.columns()) || !slices.Equal(source.key, target.key) || len(source.key) == 0 {
			return nil, fmt.Errorf("table %s differs: %v with key %v, and %v with key %v", name, source.columns(), source.key, target.columns(), target.key)
		}
		pairs = append(pairs, pair{source, target})
	}
	return pairs, nil
}

// query selects the rows of a table after a key, or from the beginning, in the order of the key.
func (t table) query(after []any, limit int) (string, []any) {
	var expressions []string
	for _, column := range t.columns() {
		expression := quote(column)
		if t.types[column] == "json" { // as it was written
			expression += "::text"
		}
		expressions = append(expressions, expression)
	}
	var key []string
	for _, column := range t.key {
		key = append(key, quote(column))
	}
	query := fmt.Sprintf("SELECT %s FROM %s", strings.Join(expressions, ", "), quote(t.name))
	if len(after) > 0 {
		query += fmt.Sprintf(" WHERE (%s) > (%s)", strings.Join(key, ", "), placeholders(len(key)))
	}
	return fmt.Sprintf("%s ORDER BY %s LIMIT %d", query, strings.Join(key, ", "), limit), after
}

func (t table) insert(dialect sqlstore.Dialect) string {
	var columns []string
	for _, column := range t.columns() {
		columns = append(columns, quote(column))
	}
	overriding := ""
	if t.name == "agents" {
		overriding = dialect.Overriding
	}
	return fmt.Sprintf("INSERT INTO %s (%s) %sVALUES (%s)", quote(t.name), strings.Join(columns, ", "), overriding, placeholders(len(columns)))
}

func quote(name string) string { return `"` + name + `"` }

func placeholders(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("$%d", i+1)
	}
	return strings.Join(list, ", ")
}

// count returns the number of rows of a table.
func count(ctx context.Context, db sqlstore.Driver, name string) (int64, error) {
	var n int64
	err := db.Reader().QueryRowContext(ctx, "SELECT COUNT(*) FROM "+quote(name)).Scan(&n)
	return n, sqlstore.Fail(db, "count the rows of "+name, err)
}
