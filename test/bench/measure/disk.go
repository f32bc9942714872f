// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/test/bench/report"
)

// groupSize is the number of rows per transaction: about what the ledger groups under load.
const groupSize = 100

// Disk measures the maximum performance of a bare SQLite file in dir, and adds it to the bounds.
func Disk(ctx context.Context, dir string, each time.Duration, b *report.Bounds) (err error) {
	if b.SQLiteRows2KB, err = sqliteRate(ctx, filepath.Join(dir, "rows.db"), groupSize, each); err != nil {
		return err
	}
	b.SQLiteCommits, err = sqliteRate(ctx, filepath.Join(dir, "commits.db"), 1, each)
	return err
}

// sqliteRate returns how many rows of 2 KB per second a bare SQLite file stores with synchronous=FULL and the given
// number of rows per transaction.
func sqliteRate(ctx context.Context, path string, group int, each time.Duration) (rate float64, err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		return 0, fmt.Errorf("measure the disk: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "CREATE TABLE facts (agent TEXT, seq INTEGER, data TEXT, PRIMARY KEY (agent, seq))"); err != nil {
		return 0, fmt.Errorf("measure the disk: %w", err)
	}
	payload := strings.Repeat("x", 2<<10)
	began, seq := time.Now(), 0
	for time.Since(began) < each {
		if err := insertGroup(ctx, db, seq, group, payload); err != nil {
			return 0, fmt.Errorf("measure the disk: %w", err)
		}
		seq++
	}
	return float64(seq*group) / time.Since(began).Seconds(), nil
}

func insertGroup(ctx context.Context, db *sql.DB, seq, group int, payload string) (err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	insert, err := tx.PrepareContext(ctx, "INSERT INTO facts VALUES (?, ?, ?)")
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	defer func() { err = errors.Join(err, insert.Close()) }()
	for i := range group {
		if _, err := insert.ExecContext(ctx, fmt.Sprintf("agent-%d", i), seq, payload); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}
