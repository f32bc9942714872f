// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
)

func TestLedgerMigrate(t *testing.T) {
	from, to := "sqlite:"+filepath.Join(t.TempDir(), "from.db"), "sqlite:"+filepath.Join(t.TempDir(), "to.db")
	ledgertest.Append(t, ledgertest.Open(t, from), ledgertest.First(ledgertest.Agent("a"), 3))
	var out strings.Builder
	t.Setenv(toVariable, to)
	if err := run(t.Context(), []string{"ledger", "migrate", "--from", from}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"event_rows: 3 of 3 rows (100 %)\n", "agents: 1 rows are the same in both\n", "The ledger is complete."} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("the output lacks %q:\n%s", line, out.String())
		}
	}
	loaded, err := ledgertest.Open(t, to).Load(t.Context(), "a")
	if err != nil || len(loaded.Events) != 3 {
		t.Errorf("the copy has %d events: %v", len(loaded.Events), err)
	}
}

func TestLedgerMigrateUsage(t *testing.T) {
	for _, args := range [][]string{{"ledger"}, {"ledger", "move"}, {"ledger", "migrate"}, {"ledger", "migrate", "--from", "sqlite:a"}} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "ledger migrate") {
			t.Errorf("%v: %v", args, err)
		}
	}
}
