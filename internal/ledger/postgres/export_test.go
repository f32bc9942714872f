// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger/migrations"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// Migrate applies migrations other than those of Open.
func Migrate(ctx context.Context, dsn string, all []migrations.Migration) error {
	db, err := connect(ctx, dsn)
	if err != nil {
		return err
	}
	return errors.Join(db.migrate(ctx, all), db.Close())
}

// OpenWithIdleTimeout opens a ledger whose write transactions end if they are idle for this time.
func OpenWithIdleTimeout(ctx context.Context, dsn string, timeout time.Duration) (*sqlstore.Store, error) {
	db, err := connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	db.idleTimeout = timeout
	return sqlstore.New(db), nil
}

// Vacuumed is what Vacuum processes.
var Vacuumed = vacuumed
