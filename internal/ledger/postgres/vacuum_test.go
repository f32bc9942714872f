// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/nestor-dev/nestor/internal/ledger/postgres"
)

// PostgreSQL only warns if what it should vacuum is a view.
func TestVacuumNamesTables(t *testing.T) {
	db := newDatabase(t)
	db.Open(t)
	connection, err := pgx.Connect(t.Context(), db.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close(t.Context()) })
	for _, name := range postgres.Vacuumed {
		var kind string
		if err := connection.QueryRow(t.Context(), "SELECT relkind::text FROM pg_class WHERE oid = $1::regclass", name).Scan(&kind); err != nil || kind != "r" {
			t.Errorf("%s is a relation of kind %q: %v", name, kind, err)
		}
	}
}
