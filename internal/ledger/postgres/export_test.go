// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"

	"github.com/nestor-dev/nestor/internal/ledger/migrations"
)

// Migrate applies migrations other than those of Open.
func Migrate(ctx context.Context, dsn string, all []migrations.Migration) error {
	db, err := connect(ctx, dsn)
	if err != nil {
		return err
	}
	return errors.Join(db.migrate(ctx, all), db.Close())
}
