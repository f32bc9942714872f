// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger/ledgertest/pgserver"
)

// Postgres makes an empty database in the server, which goes away with the test.
func Postgres(t testing.TB, server *pgserver.Server) Database {
	t.Helper()
	hash := fnv.New64()
	hash.Write([]byte(t.Name()))
	name := fmt.Sprintf("test_%x", hash.Sum64())
	if err := server.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	raw, err := sql.Open("pgx", server.URL(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	return Database{DSN: server.URL(name), Raw: raw, Lock: []string{"BEGIN", "LOCK TABLE agents IN EXCLUSIVE MODE"}}
}
