// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
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
