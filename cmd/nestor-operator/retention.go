// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// retentionPeriod is how often what is too old is looked for.
const retentionPeriod = time.Hour

// retention deletes the histories of agents that finished long ago. Where several operators run, the leader does it.
type retention struct {
	ledger ledger.Upkeep
	age    time.Duration
	log    logr.Logger
}

// Start implements manager.Runnable. A ledger that fails is tried again an hour later: retention is no reason to stop working.
func (r retention) Start(ctx context.Context) error {
	ticker := time.NewTicker(retentionPeriod)
	defer ticker.Stop()
	for {
		rows, err := ledger.Retain(ctx, r.ledger, time.Now().Add(-r.age))
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			r.log.Error(err, "Deleting old histories")
		case rows > 0:
			r.log.Info("Deleted old histories", "rows", rows, "olderThan", r.age.String())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
