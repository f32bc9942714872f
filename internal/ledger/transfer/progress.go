// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// place is where the copy of a table ends: the key of the last row, which is empty at the beginning.
type place struct {
	key  []any
	rows int64
}

func (p place) text() (string, error) {
	if len(p.key) == 0 {
		return "", nil
	}
	text, err := json.Marshal(p.key)
	return string(text), err
}

func parsePlace(text string, rows int64) (place, error) {
	if text == "" {
		return place{}, nil
	}
	p := place{rows: rows}
	decoder := json.NewDecoder(bytes.NewBufferString(text))
	decoder.UseNumber()
	if err := decoder.Decode(&p.key); err != nil {
		return p, err
	}
	for i, value := range p.key {
		if number, ok := value.(json.Number); ok {
			n, err := number.Int64()
			if err != nil {
				return p, err
			}
			p.key[i] = n
		}
	}
	return p, nil
}

// move returns the statement that records the next place. It changes nothing if another process has moved on.
func (p place) move(name string, next place) (sqlstore.Statement, error) {
	before, err := p.text()
	if err != nil {
		return sqlstore.Statement{}, err
	}
	after, err := next.text()
	return sqlstore.Statement{
		SQL:  "UPDATE " + progressTable + " SET last_key = $1, copied = $2 WHERE table_name = $3 AND last_key = $4",
		Args: []any{after, next.rows, name, before},
	}, err
}

// begin returns the places where the copies of all tables continue. The first run creates them, in an empty target
// only.
func begin(ctx context.Context, from, to sqlstore.Driver, target map[string]table, pairs []pair) (map[string]place, error) {
	id, err := identity(ctx, from)
	if err != nil {
		return nil, err
	}
	if _, ok := target[progressTable]; ok {
		return resume(ctx, to, id)
	}
	for _, name := range slices.Sorted(maps.Keys(target)) {
		if name == "schema_migrations" {
			continue
		}
		rows, err := count(ctx, to, name)
		if err != nil {
			return nil, err
		}
		if rows > 0 {
			return nil, fmt.Errorf("%w: the target %s is not empty: table %s has %d rows", ledger.ErrInvalid, to.Name(), name, rows)
		}
	}
	statements := []sqlstore.Statement{{SQL: "CREATE TABLE " + progressTable +
		" (table_name TEXT NOT NULL PRIMARY KEY, source BIGINT NOT NULL, last_key TEXT NOT NULL, copied BIGINT NOT NULL)"}}
	for _, p := range pairs {
		statements = append(statements, sqlstore.Statement{
			SQL: "INSERT INTO " + progressTable + " (table_name, source, last_key, copied) VALUES ($1, $2, '', 0)", Args: []any{p.to.name, id},
		})
	}
	err = to.Write(ctx, func(tx sqlstore.Tx) error {
		for _, s := range statements { // a database may parse a statement before it has run the previous one
			if _, err := tx.Exec(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
	return map[string]place{}, sqlstore.Fail(to, "begin", err)
}

// resume reads the places of an interrupted transfer, which must be one of the same source.
func resume(ctx context.Context, to sqlstore.Driver, id int64) (map[string]place, error) {
	rows, err := to.Reader().QueryContext(ctx, "SELECT table_name, source, last_key, copied FROM "+progressTable)
	if err != nil {
		return nil, sqlstore.Fail(to, "resume", err)
	}
	defer func() { _ = rows.Close() }() // Err reports the error
	places := map[string]place{}
	for rows.Next() {
		var name, key string
		var source, copied int64
		if err := rows.Scan(&name, &source, &key, &copied); err != nil {
			return nil, sqlstore.Fail(to, "resume", err)
		}
		if source != id {
			return nil, fmt.Errorf("%w: the target %s has a part of another ledger: empty it first", ledger.ErrInvalid, to.Name())
		}
		if places[name], err = parsePlace(key, copied); err != nil {
			return nil, fmt.Errorf("resume %s: %w", name, err)
		}
	}
	return places, sqlstore.Fail(to, "resume", rows.Err())
}

// identity identifies a ledger by the time when it was created, in microseconds.
func identity(ctx context.Context, db sqlstore.Driver) (int64, error) {
	var created int64
	err := db.Reader().QueryRowContext(ctx, "SELECT applied_at FROM schema_migrations WHERE version = 1").Scan(&created)
	return created, sqlstore.Fail(db, "identify the ledger", err)
}

// CheckFinished returns an error if the ledger is the target of an unfinished transfer.
func CheckFinished(ctx context.Context, db sqlstore.Driver) error {
	tables, err := readTables(ctx, db)
	if err != nil {
		return err
	}
	if _, ok := tables[progressTable]; ok {
		return unfinished(db)
	}
	return nil
}

func unfinished(db sqlstore.Driver) error {
	return &ledger.Error{
		Ledger: db.Name(), Op: "open", Reason: ledger.ReasonMisconfigured,
		Err: errors.New("the ledger is incomplete: run the interrupted nestor-operator ledger migrate again"),
	}
}
