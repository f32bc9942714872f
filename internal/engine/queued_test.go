// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// A call that waits for its turn longer than queuedThreshold is reported, and reported again when it continues.
func TestLongQueueIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reports := 0
		e := New(Options{QueuedChanged: func(ledger.Agent) { reports++ }})
		defer e.cancel()
		a, err := e.actor("uid")
		if err != nil {
			t.Fatal(err)
		}
		record := ledger.Agent{UID: "uid"}
		short := &queued{Queue: Queue{Provider: "main"}}
		a.markQueued(short, record)
		<-time.After(queuedThreshold / 2) // fake clock of the synctest bubble
		a.unmarkQueued(short, record)
		long := &queued{Queue: Queue{Provider: "main"}}
		a.markQueued(long, record)
		if _, ok := e.Queued("uid"); ok || reports > 0 {
			t.Errorf("reported %d times, although nothing has waited for long", reports)
		}
		<-time.After(2 * queuedThreshold)
		synctest.Wait()
		if q, ok := e.Queued("uid"); !ok || q.Provider != "main" || reports != 1 {
			t.Errorf("queued is %+v, reported %d times, want once", q, reports)
		}
		a.unmarkQueued(long, record)
		if _, ok := e.Queued("uid"); ok || reports != 2 {
			t.Errorf("it is still queued, or reported %d times", reports)
		}
		over := &queued{over: true} // granted before Submit returned
		a.markQueued(over, record)
		if over.timer != nil || a.queued != nil {
			t.Error("a call that got its turn at once counts as queued")
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
