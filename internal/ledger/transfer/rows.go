// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// row has the values of table.columns in a form that is the same for all databases: nil, int64, string or []byte.
type row []any

// batchBytes bounds a batch in addition to the number of its rows: histories have rows of megabytes.
const batchBytes = 4 << 20

// read returns the next rows after a key; none at the end of the table.
func (t table) read(ctx context.Context, db sqlstore.Driver, after []any, limit int) ([]row, error) {
	query, args := t.query(after, limit)
	rows, err := db.Reader().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, sqlstore.Fail(db, "read "+t.name, err)
	}
	defer func() { _ = rows.Close() }() // Err reports the error
	columns := t.columns()
	var batch []row
	for size := 0; size < batchBytes && rows.Next(); {
		values := make(row, len(columns))
		targets := make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, sqlstore.Fail(db, "read "+t.name, err)
		}
		for i, column := range columns {
			if values[i], err = common(values[i], t.types[column]); err != nil {
				return nil, fmt.Errorf("read %s of %s: %w", column, t.name, err)
			}
			size += length(values[i])
		}
		batch = append(batch, values)
	}
	return batch, sqlstore.Fail(db, "read "+t.name, rows.Err())
}

// keyOf returns the values of the primary key of a row.
func (t table) keyOf(r row) []any {
	columns := t.columns()
	var key []any
	for _, column := range t.key {
		key = append(key, r[slices.Index(columns, column)])
	}
	return key
}

// common converts a value of a database to the form of a row.
func common(value any, kind string) (any, error) {
	switch v := value.(type) {
	case nil, int64, string:
		return v, nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case []byte:
		if kind == "bytea" || kind == "blob" {
			return append([]byte{}, v...), nil
		}
		return string(v), nil
	}
	return nil, fmt.Errorf("a value of type %T", value)
}

// argument converts a value of a row to one that a column takes.
func argument(value any, kind string) any {
	if v, ok := value.(int64); ok && kind == "boolean" {
		return v != 0
	}
	return value
}

func length(value any) int {
	switch v := value.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	}
	return 8
}

// sum is the number of rows of a table, and the sum of their hashes, which does not depend on their order: databases
// sort texts differently.
type sum struct {
	rows   int64
	hashes [4]uint64
}

func (s *sum) add(r row) {
	hash := sha256.New()
	for _, value := range r {
		switch v := value.(type) {
		case nil:
			hash.Write([]byte{0})
		case int64:
			hash.Write(binary.BigEndian.AppendUint64([]byte{1}, uint64(v)))
		case string:
			hash.Write(binary.BigEndian.AppendUint64([]byte{2}, uint64(len(v))))
			hash.Write([]byte(v))
		case []byte:
			hash.Write(binary.BigEndian.AppendUint64([]byte{3}, uint64(len(v))))
			hash.Write(v)
		}
	}
	digest := hash.Sum(nil)
	for i := range s.hashes {
		s.hashes[i] += binary.BigEndian.Uint64(digest[8*i:])
	}
	s.rows++
}

// sumOf reads all rows of a table.
func (t table) sumOf(ctx context.Context, db sqlstore.Driver, limit int) (sum, error) {
	var s sum
	var after []any
	for {
		batch, err := t.read(ctx, db, after, limit)
		if err != nil || len(batch) == 0 {
			return s, err
		}
		for _, r := range batch {
			s.add(r)
		}
		after = t.keyOf(batch[len(batch)-1])
	}
}
