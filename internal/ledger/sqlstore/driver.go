// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// Driver is a database that a Store keeps a ledger in.
type Driver interface {
	// Name is the connection string without its secrets.
	Name() string
	// Reader is the pool that queries run on.
	Reader() *sql.DB
	// Write runs fn in one transaction and commits it durably if fn returns nil. An error of fn comes back as it is. When
	// the database refuses, fn may run once more.
	Write(ctx context.Context, fn func(Tx) error) error
	// Classify says what an error of the database means, and gives its text without secrets.
	Classify(err error) (ledger.Reason, string)
	// FenceSQL is a statement that changes or finds the row of a shard ($1) in an epoch ($2), and keeps the epoch from changing until
	// the transaction ends. It affects no row in any other epoch.
	FenceSQL() string
	// Attend is the one of ledger.Shards.
	Attend(ctx context.Context, shard int) (leave func() error, err error)
	// Vacuum gives freed space back to the system while writers go on.
	Vacuum(ctx context.Context) error
	// Close closes the connections.
	Close() error
}

// Tx is a transaction that writes.
type Tx interface {
	// Exec runs the statements in order and returns how many rows each has changed.
	Exec(ctx context.Context, statements ...Statement) ([]int64, error)
	// Int64 returns the one number that the query gives.
	Int64(ctx context.Context, query string, args ...any) (int64, error)
	// Query calls scan for each row of a query.
	Query(ctx context.Context, scan func(Row) error, query string, args ...any) error
}

// Row is one row of a result.
type Row interface {
	Scan(dest ...any) error
}

// Statement is a statement with its arguments.
type Statement struct {
	SQL  string
	Args []any
}

func statement(query string, args ...any) Statement { return Statement{SQL: query, Args: args} }
