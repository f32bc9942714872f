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

// patience is how long a readiness probe waits for an answer.
const patience = time.Second

func cachesSynced(mgr ctrl.Manager) func(*http.Request) error {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), patience)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the caches have not seen the cluster yet")
		}
		return nil
	}
}

// ledgerAnswers asks the ledger for an agent that does not exist: "not found" is an answer.
func ledgerAnswers(l ledger.Histories) func(*http.Request) error {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), patience)
		defer cancel()
		if _, err := l.Agent(ctx, "-"); err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return err
		}
		return nil
	}
}
