// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
	"github.com/nestor-dev/nestor/test/patience"
)

func TestOldHistoriesAreDeleted(t *testing.T) {
	store := ledgertest.OpenSQLite(t)
	for name, age := range map[string]time.Duration{"old": 48 * time.Hour, "young": time.Hour} {
		batch := ledgertest.First(ledgertest.Agent(name), 3)
		batch.Finish = &ledger.Finish{Status: ledger.StatusSuccess, At: time.Now().Add(-age)}
		if err := store.Append(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- retention{store, 24 * time.Hour, 24 * time.Hour, func() bool { return true }, logr.Discard()}.Start(ctx)
	}()
	if !patience.Until(func() bool {
		_, err := store.Agent(ctx, "old")
		return errors.Is(err, ledger.ErrNotFound)
	}) {
		t.Error("the old history still exists")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := store.Agent(t.Context(), "young"); err != nil {
		t.Errorf("the recent history was deleted: %v", err)
	}
}

func TestEarlierHistoriesAreIndexed(t *testing.T) {
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "ledger.db")
	if err := ledgertest.Open(t, dsn).Append(t.Context(), ledgertest.First(ledgertest.Agent("one"), 3)); err != nil {
		t.Fatal(err)
	}
	searched, err := connect.Open(t.Context(), dsn, sqlstore.Search(func(e ledger.Event) string { return string(e.Data) }))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := searched.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- retention{searched, 0, 0, func() bool { return true }, logr.Discard()}.Start(ctx)
	}()
	if !patience.Until(func() bool {
		hits, err := searched.Search(ctx, ledger.SearchQuery{Text: "from one"}, ledger.Page{})
		return err == nil && len(hits.Items) == 1 && hits.Items[0].Count == 3
	}) {
		t.Error("the events from before search was on are not found")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
