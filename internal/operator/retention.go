// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// retentionPeriod is the interval between two deletions of old rows.
const retentionPeriod = time.Hour

// standbyPeriod is how often an operator checks whether it runs retention now.
const standbyPeriod = 2 * time.Second

// retention deletes the histories of agents that finished long ago, and the bodies of old calls. An age of 0 keeps them. It also indexes what was
// recorded without search, or deletes the index if search is off. Of several operators, only one runs it.
type retention struct {
	ledger       ledger.Upkeep
	age, callAge time.Duration
	active       func() bool
	log          logr.Logger
}

// Start implements manager.Runnable. If the ledger fails, retention is retried an hour later: it must not stop the operator.
func (r retention) Start(ctx context.Context) error {
	ticker := time.NewTicker(retentionPeriod)
	defer ticker.Stop()
	for {
		wait := ticker.C
		if r.active() {
			r.delete(ctx, "histories", r.age, ledger.Retain)
			r.delete(ctx, "calls", r.callAge, ledger.RetainCalls)
			r.index(ctx)
		} else {
			wait = time.After(standbyPeriod)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wait:
		}
	}
}

func (r retention) delete(ctx context.Context, what string, age time.Duration, retain func(context.Context, ledger.Upkeep, time.Time) (int64, error)) {
	if age <= 0 {
		return
	}
	rows, err := retain(ctx, r.ledger, time.Now().Add(-age))
	switch {
	case ctx.Err() != nil:
	case err != nil:
		r.log.Error(err, "Deleting old "+what)
	case rows > 0:
		r.log.Info("Deleted old "+what, "rows", rows, "olderThan", age.String())
	}
}

func (r retention) index(ctx context.Context) {
	rows, err := ledger.Index(ctx, r.ledger)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		r.log.Error(err, "Updating the search index")
	case rows > 0:
		r.log.Info("Updated the search index", "rows", rows)
	}
}
