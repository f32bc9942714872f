// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"path/filepath"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
)

// OpenSQLite opens an empty ledger, which is closed after the cleanups that the test registers later.
func OpenSQLite(t testing.TB) ledger.Ledger {
	t.Helper()
	return Open(t, "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"))
}

// Open opens a ledger for a test.
func Open(t testing.TB, dsn string) ledger.Ledger {
	t.Helper()
	opened, err := connect.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened
}
