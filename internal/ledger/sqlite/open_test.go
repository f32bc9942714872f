// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/internal/ledger/sqlite"
)

func TestOpenRefusesInvalidPaths(t *testing.T) {
	for _, dsn := range []string{"", "sqlite:", "sqlite::memory:", "postgres://host/db", "ledger.db"} {
		if _, err := sqlite.Open(t.Context(), dsn); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("open %q: %v, want ErrInvalid", dsn, err)
		}
	}
	missing := filepath.Join(t.TempDir(), "missing", "ledger.db")
	_, err := sqlite.Open(t.Context(), "sqlite:"+missing)
	if err := expect(err, ledger.ReasonMisconfigured, missing); err != nil {
		t.Error(err)
	}
	directory := t.TempDir()
	_, err = sqlite.Open(t.Context(), "sqlite:"+directory)
	if err := expect(err, ledger.ReasonMisconfigured, directory); err != nil {
		t.Error(err)
	}
}

func TestPathMayContainAnyCharacter(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b?mode=memory#c%20&_pragma=x;'é.db")
	l, err := sqlite.Open(t.Context(), "sqlite:"+file)
	if err != nil {
		t.Fatal(err)
	}
	ledgertest.Append(t, l, ledgertest.First(ledgertest.Agent("a"), 1))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() == 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has %d bytes and mode %v, want the ledger with mode 0600", info.Size(), info.Mode())
	}
}

func TestVacuumShrinksTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	l, err := sqlite.Open(t.Context(), "sqlite:"+file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	batch := ledgertest.First(ledgertest.Agent("a"), 4000)
	batch.Finish = &ledger.Finish{Status: ledger.StatusSuccess, At: batch.Events[0].At}
	ledgertest.Append(t, l, batch)
	if err := l.Vacuum(t.Context()); err != nil {
		t.Fatal(err)
	}
	full := size(t, file)
	if _, err := ledger.Retain(t.Context(), l, batch.Events[1].At); err != nil {
		t.Fatal(err)
	}
	if after := size(t, file); after > full/2 {
		t.Errorf("the file has %d bytes after the vacuum, before it had %d", after, full)
	}
}

func size(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
