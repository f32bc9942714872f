// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/internal/ledger/sqlite"
)

// backup makes a copy while another goroutine appends, and returns the last event that was acknowledged before it started.
func backup(t *testing.T, dsn string) (copied []byte, acknowledged int64) {
	t.Helper()
	kept, err := connect.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	const enough = 20
	var once sync.Once
	ctx, stop := context.WithCancel(t.Context())
	reached, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = ledgertest.AppendForever(ctx, kept, "agent", func(seq int64) { // ends with its context
			if seq >= enough {
				once.Do(func() { close(reached) })
			}
		})
	}()
	<-reached
	var to bytes.Buffer
	if err := sqlite.Backup(t.Context(), dsn, &to); err != nil {
		t.Fatal(err)
	}
	stop()
	<-ended
	if err := kept.Close(); err != nil {
		t.Fatal(err)
	}
	return to.Bytes(), enough
}

func TestBackupOfLedgerInUse(t *testing.T) {
	copied, acknowledged := backup(t, newDatabase(t).DSN)
	file := filepath.Join(t.TempDir(), "ledger.db")
	if err := sqlite.Restore(t.Context(), "sqlite:"+file, bytes.NewReader(copied)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	restored, err := connect.Open(t.Context(), "sqlite:"+file)
	if err != nil {
		t.Fatal(err)
	}
	agent, err := restored.Agent(t.Context(), "agent")
	if err != nil || agent.LastSeq < acknowledged {
		t.Errorf("the copy ends at event %d of at least %d: %v", agent.LastSeq, acknowledged, err)
	}
	if err := restored.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "restore-*")); len(left) > 0 {
		t.Errorf("remaining files: %v", left)
	}
}

func TestInvalidBackupIsRefused(t *testing.T) {
	copied, _ := backup(t, newDatabase(t).DSN)
	file := filepath.Join(t.TempDir(), "ledger.db")
	for name, from := range map[string][]byte{
		"nothing": nil, "half of it": copied[:len(copied)/2], "something else": []byte(strings.Repeat("not a ledger ", 1000)),
	} {
		if err := sqlite.Restore(t.Context(), "sqlite:"+file, bytes.NewReader(from)); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s was restored", name)
		}
	}
	if err := os.WriteFile(file, []byte("here I am"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Restore(t.Context(), "sqlite:"+file, bytes.NewReader(copied)); err == nil || !strings.Contains(err.Error(), "there is one") {
		t.Errorf("an existing ledger was overwritten: %v", err)
	}
}

func TestBackupOfMissingLedgerFails(t *testing.T) {
	var to bytes.Buffer
	if err := sqlite.Backup(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "none.db"), &to); err == nil || to.Len() > 0 {
		t.Errorf("%v, %d bytes", err, to.Len())
	}
}
