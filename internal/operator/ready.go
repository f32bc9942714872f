// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"net/http"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/internal/ledger"
)

const probeTimeout = time.Second

func cachesSynced(mgr ctrl.Manager) func(*http.Request) error {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), probeTimeout)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the caches have not synced yet")
		}
		return nil
	}
}

// ledgerAnswers returns a check that reads a nonexistent agent from the ledger: "not found" shows that the ledger responds.
func ledgerAnswers(l ledger.Histories) func(*http.Request) error {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), probeTimeout)
		defer cancel()
		return probeLedger(ctx, l)
	}
}

// probeLedger returns an error if the ledger does not respond.
func probeLedger(ctx context.Context, l ledger.Histories) error {
	if _, err := l.Agent(ctx, "-"); err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	return nil
}
