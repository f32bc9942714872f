// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"context"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger/migrations"
)

// RunMigrations checks upgrades of the schema; migrate applies migrations to the database.
func RunMigrations(t *testing.T, db Database, released []migrations.Migration, migrate func(context.Context, []migrations.Migration) error) {
	Append(t, db.Open(t), First(Agent("a"), 1))
	version := int64(len(released))
	broken := append(released[:version:version], migrations.Migration{
		Version: version + 1, Name: "broken", Statements: []string{"CREATE TABLE halfway (x INTEGER)", "CREATE NONSENSE"},
	})
	if err := migrate(t.Context(), broken); err == nil {
		t.Fatal("a broken migration was applied")
	}
	if got := db.rows(t, "schema_migrations"); int64(got) != version {
		t.Errorf("%d migrations are recorded after a broken one, want %d", got, version)
	}
	better := append(released[:version:version], migrations.Migration{
		// It would fail if the broken one had left its table behind.
		Version: version + 1, Name: "better", Statements: []string{"CREATE TABLE halfway (x INTEGER)", "INSERT INTO halfway VALUES (1)"},
	})
	for range 2 {
		if err := migrate(t.Context(), better); err != nil {
			t.Fatal(err)
		}
	}
	if got := db.rows(t, "halfway"); got != 1 {
		t.Errorf("the next migration ran %d times, want once", got)
	}
	if got := db.rows(t, "events"); got != 1 {
		t.Errorf("%d events after a migration, want the 1 from before", got)
	}
}
