// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/internal/ledger/migrations"
	"github.com/nestor-dev/nestor/internal/ledger/sqlite"
)

func TestMigrationsAreAtomicAndAppliedOnce(t *testing.T) {
	released, err := migrations.SQLite()
	if err != nil {
		t.Fatal(err)
	}
	db := newDatabase(t)
	ledgertest.RunMigrations(t, db, released, func(ctx context.Context, all []migrations.Migration) error {
		return sqlite.Migrate(ctx, db.DSN, all)
	})
}
