// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// newQueueWorld returns an engine, an actor, and how often the engine reported that something waits for its turn.
func newQueueWorld(t *testing.T) (*Engine, *actor, *atomic.Int64) {
	t.Helper()
	var reports atomic.Int64
	e := New(Options{QueuedChanged: func(ledger.Agent) { reports.Add(1) }})
	t.Cleanup(e.cancel)
	a, err := e.actor("uid")
	if err != nil {
		t.Fatal(err)
	}
	return e, a, &reports
}

// A call that waits for its turn longer than queuedThreshold is reported, and reported again when it continues.
func TestLongQueueIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, a, reports := newQueueWorld(t)
		record := ledger.Agent{UID: "uid"}
		short := &queued{Queue: Queue{Provider: "main"}}
		a.markQueued(short, record)
		<-time.After(queuedThreshold / 2) // fake clock of the synctest bubble
		a.unmarkQueued(short, record)
		long := &queued{Queue: Queue{Provider: "main"}}
		a.markQueued(long, record)
		if _, ok := e.Queued("uid"); ok || reports.Load() > 0 {
			t.Errorf("reported %d times, although nothing has waited for long", reports.Load())
		}
		<-time.After(2 * queuedThreshold)
		synctest.Wait()
		if q, ok := e.Queued("uid"); !ok || q.Provider != "main" || reports.Load() != 1 {
			t.Errorf("queued is %+v, reported %d times, want once", q, reports.Load())
		}
		a.unmarkQueued(long, record)
		if _, ok := e.Queued("uid"); ok || reports.Load() != 2 {
			t.Errorf("it is still queued, or reported %d times", reports.Load())
		}
		over := &queued{over: true} // granted before Submit returned
		a.markQueued(over, record)
		if over.timer != nil || a.queued != nil {
			t.Error("a call that got its turn at once counts as queued")
		}
	})
}

// A call that gets its turn in the moment in which it would be reported is reported twice or not at all. With -race this finds
// accesses without the lock.
func TestQueueEndsWhenItIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, reports := newQueueWorld(t)
		for range 300 {
			q := &queued{Queue: Queue{Provider: "main"}}
			turn := time.After(queuedThreshold) // before the timer of the call
			a.markQueued(q, ledger.Agent{UID: "uid"})
			<-turn
			a.unmarkQueued(q, ledger.Agent{UID: "uid"})
			synctest.Wait()
			if n := reports.Swap(0); n != 0 && n != 2 {
				t.Fatalf("reported %d times", n)
			}
		}
	})
}

// The cause of a retry and the provider's message are part of the state while the call waits.
func TestRetryCauseIsStored(t *testing.T) {
	limited := newProvider(t, http.StatusTooManyRequests, `{"error":{"message":"Slow down.","code":"rate_limit_exceeded"}}`)
	w := newWorld(t)
	w.crash()
	w.url = limited.url
	w.start(w.ledger)
	w.chat(nil)
	w.sendMessage("m1", "hello")
	w.until("the call to wait for a retry", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && s.ModelCall != nil && s.ModelCall.RetryAt > 0 && s.ModelCall.Cause == "RateLimited" && s.ModelCall.ProviderMessage == "Slow down."
	})
}
