// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model/schedule"
)

// queueWorld is a provider with one place, which a call has.
type queueWorld struct {
	*world
	first   *schedule.Grant
	reports atomic.Int64
}

func newQueueWorld(t *testing.T) *queueWorld {
	t.Helper()
	w := &queueWorld{world: newWorld(t)}
	w.scheduler.SetProvider(schedule.Provider{Name: "p", Concurrent: 1})
	w.submit()
	return w
}

func (w *queueWorld) submit() *Call {
	c := &Call{Agent: ledger.Agent{UID: "uid"}, Budgets: w.queue.NewBudgets(), Ticket: schedule.Ticket{Provider: "p"},
		Started: func(grant *schedule.Grant) { w.first = grant }, QueuedChanged: func() { w.reports.Add(1) }}
	w.queue.Submit(c)
	return c
}

// A call that waits for its provider longer than queuedThreshold is reported, and reported again when it continues.
func TestLongQueueIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newQueueWorld(t)
		short := w.submit()
		<-time.After(queuedThreshold / 2) // fake clock of the synctest bubble
		short.Cancel()
		long := w.submit()
		if _, ok := long.Queued(); ok || w.reports.Load() > 0 {
			t.Errorf("reported %d times, although nothing has waited for long", w.reports.Load())
		}
		<-time.After(2 * queuedThreshold)
		synctest.Wait()
		if q, ok := long.Queued(); !ok || q.Provider != "p" || w.reports.Load() != 1 {
			t.Errorf("queued is %+v, reported %d times, want once", q, w.reports.Load())
		}
		w.first.Release(schedule.Result{})
		if _, ok := long.Queued(); ok || w.reports.Load() != 2 {
			t.Errorf("it is still queued, or reported %d times", w.reports.Load())
		}
	})
}

// A call that starts in the moment in which it would be reported is reported twice or not at all. With -race this
// finds accesses without the lock.
func TestQueueEndsWhenItIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newQueueWorld(t)
		for range 300 {
			turn := time.After(queuedThreshold) // before the timer of the call
			w.submit()
			<-turn
			w.first.Release(schedule.Result{})
			synctest.Wait()
			if n := w.reports.Swap(0); n != 0 && n != 2 {
				t.Fatalf("reported %d times", n)
			}
		}
	})
}
