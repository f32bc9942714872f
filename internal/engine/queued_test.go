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

// A call that waits for its turn for longer than a moment is announced, and announced again when it goes on.
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
		<-time.After(queuedAfter / 2) // of the bubble's clock
		a.dequeued(short, record)
		long := &queued{Queue: Queue{Provider: "main"}}
		a.enqueued(long, record)
		if _, ok := e.Queued("uid"); ok || told > 0 {
			t.Errorf("told %d times, although nothing has waited for long", told)
		}
		<-time.After(2 * queuedAfter)
		synctest.Wait()
		if q, ok := e.Queued("uid"); !ok || q.Provider != "main" || told != 1 {
			t.Errorf("queued is %+v, told %d times, want once", q, told)
		}
		a.dequeued(long, record)
		if _, ok := e.Queued("uid"); ok || told != 2 {
			t.Errorf("it is still queued, or told %d times", told)
		}
		over := &queued{over: true} // granted before Submit returned
		a.enqueued(over, record)
		if over.timer != nil || a.queued != nil {
			t.Error("a call that had its turn at once is not queued")
		}
	})
}

// The reason why a call is tried again, and the provider's words, are part of the state while it waits.
func TestTheCauseOfARetryIsKept(t *testing.T) {
	limited := newProvider(t, http.StatusTooManyRequests, `{"error":{"message":"Slow down.","code":"rate_limit_exceeded"}}`)
	w := newWorld(t)
	w.crash()
	w.url = limited.url
	w.start(w.ledger)
	w.chat(nil)
	w.say("m1", "hello")
	w.until("the call waits for a retry", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && s.Request != nil && s.Request.RetryAt > 0 && s.Request.Cause == "RateLimited" && s.Request.Words == "Slow down."
	})
}
