// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package share_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nestor-dev/nestor/internal/model/schedule"
)

// run runs a test of an installation with three replicas in fake time. A transaction takes 5 ms.
func run(t *testing.T, limits schedule.Provider, test func(t *testing.T, w *installation)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newInstallation(limits)
		w.table.setHook(func(at moment) error {
			if at == beforeStore {
				<-time.After(5 * time.Millisecond)
			}
			return nil
		})
		for range 3 {
			w.start(t)
		}
		test(t, w)
		w.close()
		if problems := w.report(); len(problems) > 0 {
			t.Error(problems)
		}
	})
}

// submitMany submits calls of the same kind, each in its own chat.
func (r *replica) submitMany(t testing.TB, n int, c plannedCall) {
	t.Helper()
	for i := range n {
		c.chat = fmt.Sprint(i)
		r.submit(t, c)
	}
}

func (r *replica) inFlight() int {
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	return r.world.running[r]
}

func TestFirstCallStartsImmediately(t *testing.T) {
	run(t, schedule.Provider{Concurrent: 1, RequestsPerMinute: 10, TokensPerMinute: 10_000}, func(t *testing.T, w *installation) {
		for _, r := range w.replicas {
			r.submit(t, plannedCall{namespace: "a", estimate: 3000, used: 100, length: time.Second})
			advance(20 * time.Second)
		}
		for _, waited := range w.waits {
			if waited > 50*time.Millisecond {
				t.Errorf("calls waited for %s, want at most 50 ms", w.waits)
			}
		}
		if len(w.waits) != 3 {
			t.Errorf("%d of 3 calls were started", len(w.waits))
		}
	})
}

func TestIdleReplicaMakesNoTransaction(t *testing.T) {
	run(t, schedule.Provider{Concurrent: 8, RequestsPerMinute: 100}, func(t *testing.T, w *installation) {
		advance(time.Hour)
		if n := w.table.transactions(); n != 0 {
			t.Fatalf("%d transactions before the first call", n)
		}
		w.replicas[0].submit(t, plannedCall{namespace: "a", length: time.Second})
		advance(90 * time.Second)
		n := w.table.transactions()
		if rows := len(w.table.rows); n == 0 || rows != 0 {
			t.Errorf("%d transactions, and %d rows that are not used", n, rows)
		}
		advance(time.Hour)
		if more := w.table.transactions() - n; more != 0 {
			t.Errorf("%d transactions without a call", more)
		}
	})
}

func TestUnusedShareMoves(t *testing.T) {
	run(t, schedule.Provider{Concurrent: 64}, func(t *testing.T, w *installation) {
		for _, r := range w.replicas {
			r.submitMany(t, 10, plannedCall{namespace: "a", length: 100 * time.Millisecond})
		}
		advance(2 * time.Second) // each has a reserve
		if w.table.amounts("provider/team/main/concurrent", time.Minute) < 24 {
			t.Error("idle replicas have no reserve")
		}
		w.replicas[1].submitMany(t, 200, plannedCall{namespace: "a", length: time.Hour})
		advance(3 * time.Second)
		if n := w.replicas[1].inFlight(); n != 64 {
			t.Errorf("%d calls in flight after 3 s, want all 64", n)
		}
	})
}

func TestBusyShareMovesAsCallsEnd(t *testing.T) {
	run(t, schedule.Provider{Concurrent: 12}, func(t *testing.T, w *installation) {
		w.replicas[0].submitMany(t, 1000, plannedCall{namespace: "a", length: time.Second})
		advance(10 * time.Second)
		w.replicas[1].submitMany(t, 1000, plannedCall{namespace: "b", length: time.Second})
		advance(4 * time.Second)
		if a, b := w.replicas[0].inFlight(), w.replicas[1].inFlight(); a != 6 || b != 6 {
			t.Errorf("%d and %d calls in flight, want 6 and 6", a, b)
		}
	})
}

func TestDeadReplicaReturnsItsShare(t *testing.T) {
	for name, tc := range map[string]struct {
		limits schedule.Provider
		within time.Duration
	}{
		"concurrency":         {schedule.Provider{Concurrent: 8}, 12 * time.Second},
		"requests per minute": {schedule.Provider{RequestsPerMinute: 8}, 68 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, tc.limits, func(t *testing.T, w *installation) {
				w.replicas[0].submitMany(t, 8, plannedCall{namespace: "a", length: time.Hour})
				advance(3 * time.Second)
				if n := w.replicas[0].inFlight(); n != 8 {
					t.Fatalf("%d calls in flight, want 8", n)
				}
				w.replicas[0].die()
				w.replicas[1].submitMany(t, 8, plannedCall{namespace: "a", length: time.Minute})
				advance(tc.within)
				if n := w.replicas[1].inFlight(); n != 8 {
					t.Errorf("%d calls in flight of another replica after %s, want 8", n, tc.within)
				}
			})
		})
	}
}

func TestStoppedReplicaReturnsShare(t *testing.T) {
	run(t, schedule.Provider{Concurrent: 8}, func(t *testing.T, w *installation) {
		w.replicas[0].submitMany(t, 8, plannedCall{namespace: "a", length: 5 * time.Second})
		w.replicas[0].submitMany(t, 8, plannedCall{namespace: "a", length: 5 * time.Second})
		advance(4 * time.Second)
		w.replicas[0].stopInOrder()
		w.replicas[1].submitMany(t, 8, plannedCall{namespace: "a", length: time.Minute})
		advance(500 * time.Millisecond)
		select {
		case <-w.replicas[0].stopped:
			t.Error("the keeper stopped before the calls have ended")
		default:
		}
		advance(2 * time.Second)
		if n := w.replicas[1].inFlight(); n != 8 {
			t.Errorf("%d calls in flight of another replica 2 s after the stop, want 8", n)
		}
		<-w.replicas[0].stopped
	})
}

func TestStopIgnoresSlowLedger(t *testing.T) {
	run(t, schedule.Provider{Concurrent: 8}, func(t *testing.T, w *installation) {
		r := w.replicas[0]
		r.submit(t, plannedCall{namespace: "a", length: 3 * time.Second})
		advance(time.Second)
		r.connection.cut.Store(true)
		began := time.Now()
		r.stopInOrder()
		<-r.stopped
		if took := time.Since(began); took < 2*time.Second || took > 2500*time.Millisecond {
			t.Errorf("the keeper stopped after %s, want when the call ends after 2 s", took)
		}
	})
}

// Calls arrive at a replica with a reserve while its transaction returns the reserve.
func TestShareIsLoweredFirst(t *testing.T) {
	run(t, schedule.Provider{Concurrent: 60}, func(t *testing.T, w *installation) {
		w.replicas[0].submit(t, plannedCall{namespace: "a", length: 100 * time.Millisecond})
		advance(1500 * time.Millisecond)
		w.replicas[1].submitMany(t, 100, plannedCall{namespace: "b", length: 4 * time.Second})
		var submitted atomic.Bool
		w.table.setHook(func(at moment) error {
			if at == beforeStore && w.table.deciding == w.replicas[0].name && submitted.CompareAndSwap(false, true) {
				w.replicas[0].submitMany(t, 30, plannedCall{namespace: "a", length: 4 * time.Second})
			}
			return nil
		})
		advance(3 * time.Second)
		if !submitted.Load() || w.count() < 60 {
			t.Errorf("submitted %t, %d calls were started", submitted.Load(), w.count())
		}
	})
}

func TestBackOffHoldsAllReplicas(t *testing.T) {
	for name, limits := range map[string]schedule.Provider{"with a limit": {Concurrent: 30}, "without one": {}} {
		t.Run(name, func(t *testing.T) {
			run(t, limits, func(t *testing.T, w *installation) {
				for _, r := range w.replicas {
					r.submit(t, plannedCall{namespace: "a", length: time.Minute})
				}
				advance(2 * time.Second)
				w.replicas[0].submit(t, plannedCall{namespace: "a", length: time.Second, backOff: 20 * time.Second})
				advance(3 * time.Second) // the back-off ends in 18 s
				begun := w.count()
				for _, r := range w.replicas {
					r.submit(t, plannedCall{namespace: "a", length: time.Second})
				}
				advance(17 * time.Second)
				if n := w.count() - begun; n != 0 {
					t.Errorf("%d calls began during the back-off", n)
				}
				advance(1200 * time.Millisecond) // passing the back-off on does not prolong it
				if n := w.count() - begun; n != 3 {
					t.Errorf("%d calls began after the back-off, want 3", n)
				}
			})
		})
	}
}

// One namespace has much load on two replicas, and two others have some load on one.
func TestNamespacesAreServedEqually(t *testing.T) {
	for name, limits := range map[string]schedule.Provider{
		"concurrency":         {Concurrent: 10},
		"few at a time":       {Concurrent: 2},
		"requests per minute": {RequestsPerMinute: 120},
		"tokens per minute":   {TokensPerMinute: 60_000},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, limits, func(t *testing.T, w *installation) {
				call := func(namespace string) plannedCall {
					return plannedCall{namespace: namespace, length: time.Second, estimate: 1000, used: 500}
				}
				w.replicas[0].submitMany(t, 6000, call("a"))
				w.replicas[1].submitMany(t, 6000, call("a"))
				w.replicas[1].submitMany(t, 3000, call("b"))
				w.replicas[2].submitMany(t, 3000, call("c"))
				advance(2 * time.Minute) // the use before the others waited leaves the window
				w.mu.Lock()
				clear(w.served)
				w.mu.Unlock()
				advance(10 * time.Minute)
				w.mu.Lock()
				defer w.mu.Unlock()
				total := 0
				for _, n := range w.served {
					total += n
				}
				perSecond := float64(w.table.transactions()) / 3 / (12 * time.Minute).Seconds()
				t.Logf("served: %v, %.1f transactions a second for each replica", w.served, perSecond)
				if perSecond > 4 {
					t.Errorf("%.1f transactions a second for each replica, want at most 4", perSecond)
				}
				for _, namespace := range []string{"a", "b", "c"} {
					if part := float64(w.served[namespace]) / float64(total); part < 0.28 || part > 0.39 {
						t.Errorf("namespace %s got %.2f of the calls, want a third", namespace, part)
					}
				}
			})
		})
	}
}

func TestLimitBelowReplicaCount(t *testing.T) {
	run(t, schedule.Provider{Concurrent: 1}, func(t *testing.T, w *installation) {
		for i, r := range w.replicas {
			r.submitMany(t, 1000, plannedCall{namespace: fmt.Sprint(i), length: 500 * time.Millisecond})
		}
		for range 10 {
			w.mu.Lock()
			clear(w.served)
			w.mu.Unlock()
			advance(15 * time.Second)
			w.mu.Lock()
			if len(w.served) != 3 {
				t.Errorf("in 15 s only some were served: %v", w.served)
			}
			w.mu.Unlock()
		}
		if n := w.count(); n < 200 {
			t.Errorf("%d calls of half a second in 150 s, one at a time", n)
		}
	})
}

// A call needs more tokens than the limit per minute while other replicas are busy.
func TestOversizedCallIsServed(t *testing.T) {
	run(t, schedule.Provider{TokensPerMinute: 1000}, func(t *testing.T, w *installation) {
		for _, r := range w.replicas[1:] {
			r.submitMany(t, 1000, plannedCall{namespace: "small", length: time.Second, estimate: 100, used: 100})
		}
		advance(time.Minute)
		w.replicas[0].submit(t, plannedCall{namespace: "large", length: time.Second, estimate: 5000, used: 5000})
		advance(3 * time.Minute)
		if w.served["large"] != 1 {
			t.Error("the large call was not served within 3 minutes")
		}
		before := w.count()
		advance(3 * time.Minute)
		if n := w.count() - before; n < 15 {
			t.Errorf("%d small calls in 3 minutes after the large one", n)
		}
	})
}

func TestShareExpiresWithoutLedger(t *testing.T) {
	run(t, schedule.Provider{Concurrent: 8}, func(t *testing.T, w *installation) {
		r := w.replicas[0]
		r.submit(t, plannedCall{namespace: "a", length: time.Second})
		advance(2 * time.Second)
		r.connection.cut.Store(true)
		advance(1500 * time.Millisecond)
		r.submit(t, plannedCall{namespace: "a", length: time.Second})
		if n := w.count(); n != 2 {
			t.Errorf("%d calls, want 2: the share is valid", n)
		}
		advance(5 * time.Second)
		r.submit(t, plannedCall{namespace: "a", length: time.Second})
		advance(time.Minute)
		if n := w.count(); n != 2 {
			t.Errorf("%d calls, want 2: the share has expired", n)
		}
		r.connection.cut.Store(false)
		advance(1100 * time.Millisecond)
		if n := w.count(); n != 3 {
			t.Errorf("%d calls, want 3: the ledger can be reached again", n)
		}
	})
}

// Long calls are in flight while no replica reaches the ledger. The first replica that reaches it again must not take
// the shares of the others, although they have expired.
func TestSharesSurviveLedgerOutage(t *testing.T) {
	run(t, schedule.Provider{Concurrent: 9}, func(t *testing.T, w *installation) {
		for i, r := range w.replicas {
			r.submitMany(t, 3, plannedCall{namespace: fmt.Sprint(i), length: 2 * time.Minute})
		}
		advance(3 * time.Second)
		for i, r := range w.replicas {
			r.submitMany(t, 100, plannedCall{namespace: fmt.Sprint(i), length: 2 * time.Minute})
		}
		advance(3 * time.Second)
		if n := w.count(); n != 9 {
			t.Fatalf("%d calls in flight, want 9", n)
		}
		for _, r := range w.replicas {
			r.connection.cut.Store(true)
		}
		advance(40 * time.Second)
		for _, r := range w.replicas {
			advance(900 * time.Millisecond)
			r.connection.cut.Store(false)
		}
		advance(30 * time.Second)
		if n := w.count(); n != 9 {
			t.Errorf("%d calls were started, 9 are in flight", n)
		}
	})
}
