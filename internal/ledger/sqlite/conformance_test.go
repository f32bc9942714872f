// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
)

func TestConformance(t *testing.T) { ledgertest.Run(t, newDatabase) }

func newDatabase(t testing.TB) ledgertest.Database {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ledger.db")
	raw, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	return ledgertest.Database{DSN: "sqlite:" + file, Raw: raw, Lock: []string{"BEGIN IMMEDIATE"}}
}
