// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package share_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest/pgserver"
	"github.com/nestor-dev/nestor/internal/model/schedule"
)

// TestLimitsHoldOnPostgreSQL runs the keepers and schedulers of three replicas under load, in real time and on a real
// database, while replicas are killed, stopped and cut off.
func TestLimitsHoldOnPostgreSQL(t *testing.T) {
	server, err := pgserver.New(t.Context())
	if errors.Is(err, pgserver.ErrNotInstalled) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	db := ledgertest.Postgres(t, server).Open(t)
	for name, tc := range map[string]struct {
		limits   schedule.Provider
		minCalls int
	}{
		"concurrency": {schedule.Provider{Concurrent: 6}, 100},
		"per minute":  {schedule.Provider{Concurrent: 50, RequestsPerMinute: 300, TokensPerMinute: 100_000}, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			w := newInstallation(tc.limits)
			w.opened, w.limits[0].Name = db, "team/"+name
			disturb(t, w, draw{rand.New(rand.NewPCG(seed, 0))})
			waits := w.startWaits()
			t.Logf("%d calls, the first one waited for %s", len(waits), waits[0])
			if len(waits) < tc.minCalls {
				t.Errorf("%d calls were started, want at least %d", len(waits), tc.minCalls)
			}
			if problems := w.report(); len(problems) > 0 {
				t.Error(problems[:min(5, len(problems))])
			}
			checkAmounts(t, db, "provider/team/"+name+"/concurrent", int64(tc.limits.Concurrent))
		})
	}
}

// disturb keeps all replicas under load for some seconds, while it kills one, stops one and cuts one off.
func disturb(t *testing.T, w *installation, d draw) {
	for range 3 {
		w.start(t).load(t)
	}
	actions := []func(*replica){
		func(r *replica) { r.die(); w.start(t).load(t) },
		func(r *replica) { r.connection.cut.Store(true) },
		func(r *replica) { r.stopInOrder(); w.start(t).load(t) },
		func(*replica) {
			for _, r := range w.replicas {
				r.connection.cut.Store(r.ended)
			}
		},
	}
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	for _, act := range actions {
		<-ticker.C
		act(w.live()[d.IntN(3)])
	}
	<-ticker.C
	<-ticker.C
	w.close()
}

// load keeps twenty calls waiting or in flight until the replica stops.
func (r *replica) load(t *testing.T) {
	for range 20 {
		d := draw{rand.New(rand.NewPCG(rand.Uint64(), 0))}
		var next func()
		next = func() {
			select {
			case <-r.stopping:
				return
			default:
			}
			c := d.call()
			c.length, c.backOff, c.ended = d.upTo(200*time.Millisecond), 0, next
			r.submit(t, c)
		}
		next()
	}
}

// checkAmounts checks the sum of the shares that are stored.
func checkAmounts(t *testing.T, db ledger.Ledger, resource string, limit int64) {
	t.Helper()
	err := db.UpdateShares(t.Context(), "test", []string{resource}, time.Second, func(all []ledger.Share) []ledger.Share {
		var sum int64
		for _, s := range all {
			if s.Age < 10*time.Second {
				sum += s.Amount
			}
		}
		if sum > limit {
			t.Errorf("the shares of %s sum to %d, the limit is %d", resource, sum, limit)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
