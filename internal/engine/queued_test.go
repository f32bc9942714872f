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

// A call that waits for its turn longer than queuedAfter is reported, and reported again when it continues.
func TestALongQueueIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		e := New(Options{Queued: func(ledger.Agent) { told++ }})
		defer e.cancel()
		a, err := e.actor("uid")
		if err != nil {
			t.Fatal(err)
		}
		record := ledger.Agent{UID: "uid"}
		short := &queued{Queue: Queue{Provider: "main"}}
		a.enqueued(short, record)
		<-time.After(queuedAfter / 2) // fake clock of the synctest bubble
		a.dequeued(short, record)
		long := &queued{Queue: Queue{Provider: "main"}}
		a.enqueued(long, record)
		if _, ok := e.Queued("uid"); ok || told > 0 {
			t.Errorf("reported %d times, although nothing has waited for long", told)
		}
		<-time.After(2 * queuedAfter)
		synctest.Wait()
		if q, ok := e.Queued("uid"); !ok || q.Provider != "main" || told != 1 {
			t.Errorf("queued is %+v, reported %d times, want once", q, told)
		}
		a.dequeued(long, record)
		if _, ok := e.Queued("uid"); ok || told != 2 {
			t.Errorf("it is still queued, or reported %d times", told)
		}
		over := &queued{over: true} // granted before Submit returned
		a.enqueued(over, record)
		if over.timer != nil || a.queued != nil {
			t.Error("a call that got its turn at once counts as queued")
		}
	})
}

// The cause of a retry and the provider's message are part of the state while the call waits.
func TestTheCauseOfARetryIsKept(t *testing.T) {
	limited := newProvider(t, http.StatusTooManyRequests, `{"error":{"message":"Slow down.","code":"rate_limit_exceeded"}}`)
	w := newWorld(t)
	w.crash()
	w.url = limited.url
	w.start(w.ledger)
	w.chat(nil)
	w.say("m1", "hello")
	w.until("the call to wait for a retry", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && s.Request != nil && s.Request.RetryAt > 0 && s.Request.Cause == "RateLimited" && s.Request.Words == "Slow down."
	})
}
