// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/nestor-dev/nestor/internal/ledger/migrations"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// Inside accesses the driver of an open ledger.
type Inside struct{ db *database }

// OpenInside opens a ledger for tests that make its file fail.
func OpenInside(ctx context.Context, dsn string) (*sqlstore.Store, Inside, error) {
	db, err := open(ctx, dsn)
	if err != nil {
		return nil, Inside{}, err
	}
	return sqlstore.New(db), Inside{db}, nil
}

// LimitPages simulates a disk with space for this number of pages.
func (i Inside) LimitPages(ctx context.Context, pages int) error {
	return i.db.writer.use(ctx, func() error {
		_, err := i.db.writer.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count(%d)", pages))
		return err
	})
}

// Disconnect closes the write connection, so that the next write opens the file again.
func (i Inside) Disconnect() {
	i.db.writer.mu.Lock()
	defer i.db.writer.mu.Unlock()
	i.db.writer.drop()
}

// Migrate applies migrations other than those of Open.
func Migrate(ctx context.Context, dsn string, all []migrations.Migration) error {
	db, err := connect(dsn)
	if err != nil {
		return err
	}
	return errors.Join(db.migrate(ctx, all), db.Close())
}
