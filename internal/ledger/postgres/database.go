// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// database is one PostgreSQL database as a driver of the store.
type database struct {
	name    string
	secrets []string
	pool    *pgxpool.Pool
	// reader is the same pool for database/sql.
	reader *sql.DB
}

var _ sqlstore.Driver = (*database)(nil)

// Name implements sqlstore.Driver.
func (d *database) Name() string { return d.name }

// Reader implements sqlstore.Driver.
func (d *database) Reader() *sql.DB { return d.reader }

// Write implements sqlstore.Driver.
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
	// After a commit that failed, or on a connection that broke, there is nothing left to roll back.
	_ = tx.Rollback(context.WithoutCancel(ctx))
	if isFailureOfServer(err) {
		// The other connections lead to the same server.
		d.pool.Reset()
	}
	return err
}

// begin passes over connections that broke while they were idle: nothing was sent on them, so nothing is in doubt. The
// isolation is the one in which a claim that lost changes no row, instead of ending the transaction of the group.
func (d *database) begin(ctx context.Context) (pgx.Tx, error) {
	for idle := d.pool.Stat().IdleConns(); ; idle-- {
		tx, err := d.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
		if err == nil || idle <= 0 || classify(err) != ledger.ReasonUnavailable || ctx.Err() != nil {
			return tx, err
		}
	}
}

// FenceSQL implements sqlstore.Driver. Whoever takes the shard waits for the transactions that have read its epoch.
func (d *database) FenceSQL() string {
	return `SELECT 1 FROM shards WHERE shard = $1 AND epoch = $2 FOR SHARE`
}

// attendKey is the first half of the advisory locks of those who attend; the second is the shard.
const attendKey = 0x6e657374

// Attend implements sqlstore.Driver: an advisory lock lasts as long as its connection.
func (d *database) Attend(ctx context.Context, shard int) (leave func() error, err error) {
	pooled, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	conn := pooled.Hijack()
	var locked bool
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1, $2)", attendKey, shard).Scan(&locked)
	if err == nil && !locked {
		err = ledger.ErrAttended
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
		defer cancel()
		return conn.Close(ctx)
	}, nil
}

// leaveTimeout bounds how long a server may take to say goodbye.
const leaveTimeout = 5 * time.Second

// Vacuum implements sqlstore.Driver. A plain VACUUM lets readers and writers go on; the server's own autovacuum does
// the same in its time.
func (d *database) Vacuum(ctx context.Context) error {
	for _, table := range []string{"events", "snapshots", "tool_calls", "model_calls", "agents", "quota_usage", "quota_reservations"} {
		if _, err := d.pool.Exec(ctx, "VACUUM (ANALYZE) "+table); err != nil {
			return err
		}
	}
	return nil
}

// Close implements sqlstore.Driver.
func (d *database) Close() error {
	err := d.reader.Close()
	d.pool.Close()
	return err
}

// transaction is a transaction of the pool.
type transaction struct{ tx pgx.Tx }

// Exec implements sqlstore.Tx. All statements travel at once, so that a group costs a few round trips and not one
// for each of its rows.
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

// Int64 implements sqlstore.Tx.
func (t transaction) Int64(ctx context.Context, query string, args ...any) (int64, error) {
	var n int64
	err := t.tx.QueryRow(ctx, query, args...).Scan(&n)
	return n, err
}

// Query implements sqlstore.Tx.
func (t transaction) Query(ctx context.Context, scan func(sqlstore.Row) error, query string, args ...any) error {
	rows, err := t.tx.Query(ctx, query, args...)
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
