// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// database implements sqlstore.Driver for PostgreSQL.
type database struct {
	name    string
	secrets []string
	pool    *pgxpool.Pool
	// reader uses the same pool through database/sql.
	reader *sql.DB
	// idleTimeout is how long the server waits for the next statement of a write transaction.
	idleTimeout time.Duration
}

// defaultIdleTimeout is far above the time between two statements of a healthy process.
const defaultIdleTimeout = 5 * time.Second

var _ sqlstore.Driver = (*database)(nil)

func (d *database) Name() string { return d.name }

func (d *database) Reader() *sql.DB { return d.reader }

func (d *database) Write(ctx context.Context, fn func(sqlstore.Tx) error) error {
	tx, err := d.begin(ctx)
	if err != nil {
		return err
	}
	err = fn(transaction{tx})
	if err == nil {
		err = tx.Commit(ctx)
	}
	if err == nil {
		return nil
	}
	// After a failed commit or a broken connection there is nothing to roll back.
	_ = tx.Rollback(context.WithoutCancel(ctx))
	if isServerFailure(err) {
		// The other connections lead to the same server.
		d.pool.Reset()
	}
	return err
}

// begin starts a transaction. It skips connections that broke while they were idle: nothing was sent on them, so it is safe to
// try another one. The isolation level is read committed, in which an update that loses against another writer changes no row,
// instead of aborting the transaction of the group.
//
// A process that is stopped, or cut off from the server, in the middle of a transaction keeps its locks only for idleTimeout:
// other operators wait for them.
func (d *database) begin(ctx context.Context) (pgx.Tx, error) {
	begin := fmt.Sprintf("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = %d", d.idleTimeout.Milliseconds())
	for idle := d.pool.Stat().IdleConns(); ; idle-- {
		tx, err := d.pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: begin})
		if err == nil || idle <= 0 || classify(err) != ledger.ReasonUnavailable || ctx.Err() != nil {
			return tx, err
		}
	}
}

// ShareLock implements sqlstore.Driver. Taking over a shard waits for transactions that have read its epoch, and these see the new
// epoch if they come second.
func (d *database) ShareLock() string { return " FOR SHARE" }

// LockSQL implements sqlstore.Driver with an advisory lock.
func (d *database) LockSQL() string {
	return fmt.Sprintf("SELECT pg_advisory_xact_lock(%d, $1)", resourceLockKey)
}

// resourceLockKey is the first half of the key of the locks of LockSQL.
const resourceLockKey = 0x73686172

// Clock implements sqlstore.Driver. Unlike now(), the time does not stop in a transaction, which may have waited for a lock.
func (d *database) Clock() string {
	return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"
}

// vacuumed lists the tables that lose many rows. PostgreSQL skips views, which are named like the records.
var vacuumed = []string{
	"event_rows", "snapshots", "tool_call_rows", "model_call_rows", "agents", "images", "image_uses", "quota_usage", "quota_reservations",
	"detached_calls", "workspace_changes", "search_entries", "search_agents",
}

// Vacuum implements sqlstore.Driver. A plain VACUUM does not block readers or writers; the server's autovacuum does the same
// later.
func (d *database) Vacuum(ctx context.Context) error {
	for _, table := range vacuumed {
		if _, err := d.pool.Exec(ctx, "VACUUM (ANALYZE) "+table); err != nil {
			return err
		}
	}
	return nil
}

func (d *database) Close() error {
	err := d.reader.Close()
	d.pool.Close()
	return err
}

// transaction implements sqlstore.Tx.
type transaction struct{ tx pgx.Tx }

// Exec implements sqlstore.Tx. All statements are pipelined, so that a group needs a few round trips and not one for each row.
func (t transaction) Exec(ctx context.Context, statements ...sqlstore.Statement) ([]int64, error) {
	var batch pgx.Batch
	for _, s := range statements {
		batch.Queue(s.SQL, s.Args...)
	}
	results := t.tx.SendBatch(ctx, &batch)
	changed := make([]int64, len(statements))
	for i := range statements {
		tag, err := results.Exec()
		if err != nil {
			_ = results.Close() // It would only repeat the error.
			return nil, err
		}
		changed[i] = tag.RowsAffected()
	}
	return changed, results.Close()
}

func (t transaction) Int64(ctx context.Context, query string, args ...any) (int64, error) {
	var n int64
	err := t.tx.QueryRow(ctx, query, args...).Scan(&n)
	return n, err
}

func (t transaction) Query(ctx context.Context, scan func(sqlstore.Row) error, query string, args ...any) error {
	return t.QueryAfter(ctx, nil, scan, query, args...)
}

func (t transaction) QueryAfter(ctx context.Context, statements []sqlstore.Statement, scan func(sqlstore.Row) error, query string, args ...any) error {
	var batch pgx.Batch
	for _, s := range statements {
		batch.Queue(s.SQL, s.Args...)
	}
	batch.Queue(query, args...)
	results := t.tx.SendBatch(ctx, &batch)
	if err := scanAfter(results, len(statements), scan); err != nil {
		_ = results.Close() // It would only repeat the error.
		return err
	}
	return results.Close()
}

// scanAfter skips the results of some statements and scans the rows of the next one.
func scanAfter(results pgx.BatchResults, skip int, scan func(sqlstore.Row) error) error {
	for range skip {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
