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

// Standard output may be redirected to a file, so it must contain only the copy.
func TestStandardOutputHasOnlyCopy(t *testing.T) {
	var out, complaints strings.Builder
	if err := run(t.Context(), []string{"backup", "--frobnicate"}, &out, &complaints); err == nil {
		t.Error("an unknown flag was accepted")
	}
	if out.String() != "" || !strings.Contains(complaints.String(), "-ledger") {
		t.Errorf("standard output has %q, standard error %q", out.String(), complaints.String())
	}
}

func TestLedgerIsOperatorsOwn(t *testing.T) {
	address := "sqlite:" + filepath.Join(t.TempDir(), "ledger.db")
	ledgertest.Open(t, address)
	t.Setenv(ledgerVariable, address)
	var out strings.Builder
	if err := run(t.Context(), []string{"backup"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "SQLite format 3") {
		t.Errorf("the copy starts with %q", out.String()[:min(16, out.Len())])
	}
}
