// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/words"
)

type Driver interface {
	// Name returns the connection string without secrets.
	Name() string
	Reader() *sql.DB
	// Write runs fn in one transaction and commits it durably if fn returns nil. It returns errors of fn unchanged. After
	// a failure fn may run once more.
	Write(ctx context.Context, fn func(Tx) error) error
	// Classify returns the reason of a database error, and its text without secrets.
	Classify(err error) (ledger.Reason, string)
	// ShareLock returns the end of a SELECT in Write that keeps the selected rows from changing until the transaction
	// ends. It is empty if write transactions exclude each other.
	ShareLock() string
	// LockSQL returns a statement that takes the lock with a number of 32 bits ($1) until the transaction ends. It is
	// empty if write transactions exclude each other.
	LockSQL() string
	// Clock returns an expression for the current time of the database in microseconds since 1970.
	Clock() string
	// Dialect returns the SQL with which package transfer copies a ledger.
	Dialect() Dialect
	// IndexEntry returns the statements that write an entry of the search index if the position of its agent's index is
	// last.
	IndexEntry(agent, seq, at, last int64, words []string) []Statement
	// Matching returns a condition on search_entries, which takes the placeholder of arg: the entry has all terms.
	Matching(terms []words.Term) (condition func(placeholder string) string, arg any)
	// Vacuum returns free space to the system without blocking writers.
	Vacuum(ctx context.Context) error
	Close() error
}

// Dialect is the SQL for copying a ledger that differs between databases.
type Dialect struct {
	// Columns selects table, column, type and position in the primary key (0 for the others) of all tables.
	Columns string
	// Overriding stands before VALUES in an insert that sets the number of an agent.
	Overriding string
	// ReadCounter selects the last number that an agent got, and SetCounter sets it. Only the last statement of SetCounter
	// has an argument.
	ReadCounter string
	SetCounter  []string
}

type Tx interface {
	// Exec runs the statements in order and returns the number of rows that each has changed.
	Exec(ctx context.Context, statements ...Statement) ([]int64, error)
	// Int64 returns the single number that the query selects.
	Int64(ctx context.Context, query string, args ...any) (int64, error)
	Query(ctx context.Context, scan func(Row) error, query string, args ...any) error
	// QueryAfter runs the statements in order and then the query, in one round trip to the database.
	QueryAfter(ctx context.Context, statements []Statement, scan func(Row) error, query string, args ...any) error
}

type Row interface {
	Scan(dest ...any) error
}

type Statement struct {
	SQL  string
	Args []any
}

func statement(query string, args ...any) Statement { return Statement{SQL: query, Args: args} }
