// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/internal/ledger/migrations"
	"github.com/nestor-dev/nestor/internal/ledger/postgres"
)

func TestMigrationsAreAtomicAndAppliedOnce(t *testing.T) {
	released, err := migrations.Postgres()
	if err != nil {
		t.Fatal(err)
	}
	db := newDatabase(t)
	ledgertest.RunMigrations(t, db, released, func(ctx context.Context, all []migrations.Migration) error {
		return postgres.Migrate(ctx, db.DSN, all)
	})
}
