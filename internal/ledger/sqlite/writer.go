// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strconv"
	"sync"

	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// writer owns the write connection and its prepared statements: parsing them costs more than running them.
type writer struct {
	pool *sql.DB

	mu         sync.Mutex
	conn       *sql.Conn
	statements map[string]*sql.Stmt
}

func newWriter(pool *sql.DB) *writer { return &writer{pool: pool} }

// transaction runs fn between BEGIN IMMEDIATE, which takes the write lock at once instead of failing later, and COMMIT.
func (w *writer) transaction(ctx context.Context, fn func(sqlstore.Tx) error) error {
	return w.use(ctx, func() error {
		_, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE")
		if err == nil {
			err = fn(transaction{w})
		}
		// A statement that ctx interrupts may still have taken effect. A commit must not be in doubt, so it is not interrupted;
		// after any other failure the transaction may still be open, and the rollback ends it.
		ctx := context.WithoutCancel(ctx)
		if err == nil {
			_, err = w.conn.ExecContext(ctx, "COMMIT")
		}
		if err != nil {
			_, _ = w.conn.ExecContext(ctx, "ROLLBACK")
		}
		return err
	})
}

// vacuum frees up to the given number of pages, and returns the number of free pages before and after.
func (w *writer) vacuum(ctx context.Context, pages int64) (before, after int64, err error) {
	err = w.use(ctx, func() error {
		tx := transaction{w}
		if before, err = tx.Int64(ctx, "PRAGMA freelist_count"); err != nil || before == 0 {
			return err
		}
		if _, err := w.conn.ExecContext(ctx, "PRAGMA incremental_vacuum("+strconv.FormatInt(min(pages, before), 10)+")"); err != nil {
			return err
		}
		after, err = tx.Int64(ctx, "PRAGMA freelist_count")
		return err
	})
	return before, after, err
}

// checkpoint copies the write-ahead log into the file as far as possible without blocking, and updates the statistics of the
// query planner.
func (w *writer) checkpoint(ctx context.Context) error {
	return w.use(ctx, func() error {
		_, err := w.conn.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE); PRAGMA optimize")
		return err
	})
}

// use runs fn with the connection, and drops the connection after a file error.
func (w *writer) use(ctx context.Context, fn func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn == nil {
		conn, err := w.pool.Conn(ctx)
		if err != nil {
			return err
		}
		w.conn, w.statements = conn, map[string]*sql.Stmt{}
	}
	err := fn()
	if isFileFailure(err) {
		w.drop()
	}
	return err
}

// drop closes the connection instead of returning it to the pool.
func (w *writer) drop() {
	// SQLite keeps the file open while a statement is.
	for _, s := range w.statements {
		_ = s.Close()
	}
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = w.conn.Close()
	w.conn, w.statements = nil, nil
}

func (w *writer) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != nil {
		w.drop()
	}
	return w.pool.Close()
}

// prepared returns the prepared statement for a query, which lives as long as the connection.
func (w *writer) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := w.statements[query]; ok {
		return s, nil
	}
	s, err := w.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	w.statements[query] = s
	return s, nil
}

// transaction implements sqlstore.Tx.
type transaction struct{ w *writer }

func (t transaction) Exec(ctx context.Context, statements ...sqlstore.Statement) ([]int64, error) {
	changed := make([]int64, len(statements))
	// A cancellable context costs the driver a goroutine per statement, which is more than most of these take; long ones, such as
	// migrations, are not interrupted.
	uncancelled := context.WithoutCancel(ctx)
	for i, s := range statements {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		stmt, err := t.w.prepared(uncancelled, s.SQL) //nolint:sqlclosecheck // It is closed with the connection.
		if err != nil {
			return nil, err
		}
		result, err := stmt.ExecContext(uncancelled, s.Args...)
		if err != nil {
			return nil, err
		}
		if changed[i], err = result.RowsAffected(); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

func (t transaction) Int64(ctx context.Context, query string, args ...any) (int64, error) {
	var n int64
	err := t.w.conn.QueryRowContext(ctx, query, args...).Scan(&n)
	return n, err
}

func (t transaction) Query(ctx context.Context, scan func(sqlstore.Row) error, query string, args ...any) error {
	uncancelled := context.WithoutCancel(ctx)     // as in Exec
	stmt, err := t.w.prepared(uncancelled, query) //nolint:sqlclosecheck // It is closed with the connection.
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(uncancelled, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err has already reported the error.
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (t transaction) QueryAfter(ctx context.Context, statements []sqlstore.Statement, scan func(sqlstore.Row) error, query string, args ...any) error {
	if _, err := t.Exec(ctx, statements...); err != nil {
		return err
	}
	return t.Query(ctx, scan, query, args...)
}
