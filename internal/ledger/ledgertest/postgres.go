// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"database/sql"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger/ledgertest/pgserver"
)

// Postgres creates an empty database in the server.
func Postgres(t testing.TB, server *pgserver.Server) Database {
	t.Helper()
	url, err := server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	return Database{DSN: url, Raw: raw, Lock: []string{"BEGIN", "LOCK TABLE agents IN EXCLUSIVE MODE"}}
}
