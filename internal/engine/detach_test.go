// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/internal/tool"
)

// handOver hands over a shard from one replica to another, and fails if that waits for the calls in flight.
func handOver(t *testing.T, from, to replica, index int) {
	t.Helper()
	start := time.Now()
	_ = from.Engine(index).HandOver(t.Context())
	if took := time.Since(start); took >= handOverTimeout {
		t.Fatalf("the hand-over took %s: it waits for a call in flight", took)
	}
	to.own(t.Context(), index)
}

// longWrite returns two replicas, the first of which has an agent whose write tool runs until finish is closed.
func longWrite(t *testing.T) (w *world, a, b replica, finish chan struct{}) {
	t.Helper()
	w = newWorld(t, writerScript)
	a, b = w.replica("a", 2), w.replica("b", 2)
	a.own(t.Context(), 0)
	running := make(chan struct{}, 1)
	finish = make(chan struct{})
	w.tools.beforeWrite = func(ctx context.Context, i tool.Invocation) {
		if i.Agent != "uid-long" {
			return
		}
		running <- struct{}{}
		select {
		case <-finish:
		case <-ctx.Done():
		}
	}
	a.mustBegin("long", 0)
	<-running
	return w, a, b, finish
}

// noDetached checks that nothing is left of the detached calls.
func (w *world) noDetached() {
	w.t.Helper()
	w.until("the detached calls to be forgotten", func() bool {
		calls, err := w.ledger.DetachedCalls(context.Background(), ledger.FirstShard)
		return err == nil && len(calls) == 0
	})
}

func TestCallContinuesAfterHandOver(t *testing.T) {
	w, a, b, finish := longWrite(t)
	handOver(t, a, b, 0)
	b.mustBegin("other", 0)
	if got := b.untilEnded("other").Outcome.Result.Text; got != "Written." { // it does not wait for the call
		t.Errorf("the result of another agent is %q", got)
	}
	if made, awaited := a.Stats().Detached, b.Stats().Adopted; made != 1 || awaited != 1 {
		t.Errorf("a makes %d calls for b, which awaits %d", made, awaited)
	}
	close(finish)
	if got := b.untilEnded("long").Outcome.Result.Text; got != "Written." {
		t.Errorf("the result is %q: that of the detached call was lost", got)
	}
	w.wantWrites(2)
	w.noDetached()
	w.until("nothing to be detached", func() bool { return a.Stats().Detached == 0 && b.Stats().Adopted == 0 })
}

// TestCallContinuesAfterTwoHandOvers hands over again before the call has ended, and back to the process that makes it.
func TestCallContinuesAfterTwoHandOvers(t *testing.T) {
	w, a, b, finish := longWrite(t)
	handOver(t, a, b, 0)
	handOver(t, b, a, 0)
	close(finish)
	if got := a.untilEnded("long").Outcome.Result.Text; got != "Written." {
		t.Errorf("the result is %q: that of the detached call was lost", got)
	}
	w.wantWrites(1)
	w.noDetached()
}

// TestResultDuringTakeOver delivers the result of a detached call while the step of the take-over is being recorded.
func TestResultDuringTakeOver(t *testing.T) {
	w, a, b, finish := longWrite(t)
	recording, record := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow := &tamperedLedger{Ledger: w.ledger}
	slow.append = func(ctx context.Context, batch ledger.Batch) error {
		err := w.ledger.Append(ctx, batch)
		if batch.Agent == "uid-long" {
			once.Do(func() { close(recording); <-record })
		}
		return err
	}
	b.Engine(0).options.Ledger = slow
	handOver(t, a, b, 0)
	<-recording
	close(finish)
	actor, err := b.Engine(0).actor("uid-long")
	if err != nil {
		t.Fatal(err)
	}
	w.until("the result to be in the mailbox", func() bool {
		actor.mu.Lock()
		defer actor.mu.Unlock()
		return len(actor.queue) > 0
	})
	close(record)
	if got := b.untilEnded("long").Outcome.Result.Text; got != "Written." {
		t.Errorf("the result is %q", got)
	}
	w.wantWrites(1)
	w.noDetached()
}

// TestLostDetachedCallIsUnknown ends the process that makes the call.
func TestLostDetachedCallIsUnknown(t *testing.T) {
	for name, ttl := range map[string]time.Duration{"expires before the take-over": time.Millisecond, "expires later": 300 * time.Millisecond} {
		t.Run(name, func(t *testing.T) { testLostDetachedCall(t, ttl) })
	}
}

func testLostDetachedCall(t *testing.T, ttl time.Duration) {
	t.Helper()
	w, a, b, _ := longWrite(t)
	a.Engine(0).detachedTTL = ttl
	handOver(t, a, b, 0)
	killed, kill := context.WithCancel(context.Background())
	kill()
	if err := a.Close(killed); err != nil {
		t.Fatal(err)
	}
	if got := b.untilEnded("long").Outcome.Result.Text; got != "The outcome is unknown." {
		t.Errorf("the result is %q", got)
	}
	w.wantWrites(1)
	w.noDetached()
}

// TestCancelSkipsDetachedCall cancels an agent while another process makes its call.
func TestCancelSkipsDetachedCall(t *testing.T) {
	w, a, b, finish := longWrite(t)
	handOver(t, a, b, 0)
	if err := b.Deliver("uid-long", agent.Cancelled{}); err != nil {
		t.Fatal(err)
	}
	if got := b.untilEnded("long").Outcome.Kind; got != agent.ErrorCancelled {
		t.Errorf("it ended as %q", got)
	}
	close(finish)
	w.noDetached()
	w.until("the cancelled call to be closed", func() bool { // after the end of the agent
		open, err := w.ledger.OpenCalls(t.Context(), "uid-long")
		return err == nil && len(open.Tools) == 0
	})
	w.wantWrites(1)
}

// handOverDuringCall starts an agent whose model calls are answered by handler, hands over its shard when the first
// call has arrived, and returns the new owner.
func handOverDuringCall(t *testing.T, w *world, handler http.Handler, arrived <-chan struct{}) replica {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := openai.NewClient(wire.Endpoint{BaseURL: server.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	w.models = func(Models) Models { return fixedModel{Endpoint{Client: client, Model: "scripted"}} }
	a, b := w.replica("a", 2), w.replica("b", 2)
	a.own(t.Context(), 0)
	a.mustBegin("long", 0)
	<-arrived
	handOver(t, a, b, 0)
	return b
}

// TestCancelReachesDetachedCall cancels an agent whose model call continues at the previous owner: it would cost money
// until it ends.
func TestCancelReachesDetachedCall(t *testing.T) {
	w := newWorld(t, writerScript)
	arrived, stopped := make(chan struct{}, 1), make(chan struct{})
	slow := http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body) // the server notices the end of a connection after that
		arrived <- struct{}{}
		<-request.Context().Done()
		close(stopped)
	})
	b := handOverDuringCall(t, w, slow, arrived)
	if err := b.Deliver("uid-long", agent.Cancelled{}); err != nil {
		t.Fatal(err)
	}
	if got := b.untilEnded("long").Outcome.Kind; got != agent.ErrorCancelled {
		t.Errorf("it ended as %q", got)
	}
	w.until("the model call to be stopped", func() bool {
		select {
		case <-stopped:
			return true
		default:
			return false
		}
	})
	w.noDetached()
}

// TestDetachedCallIsPaidOnce detaches a model call, whose budget stays reserved until its usage is known.
func TestDetachedCallIsPaidOnce(t *testing.T) {
	w := newWorld(t, writerScript)
	var requests atomic.Int32
	arrived, finish := make(chan struct{}, 1), make(chan struct{})
	slow := http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if requests.Add(1) == 1 {
			arrived <- struct{}{}
			<-finish
		}
		w.model.ServeHTTP(response, request)
	})
	b := handOverDuringCall(t, w, slow, arrived)
	reserved := func() budget.Amount {
		_, reserved := b.Engine(0).budgets.TreeUsage("uid-long")
		return reserved
	}
	w.until("the budget of the detached call to be reserved", func() bool { return reserved() != budget.Amount{} })
	close(finish)
	s := b.untilEnded("long")
	if got := s.Outcome.Result.Text; got != "Written." {
		t.Errorf("the result is %q", got)
	}
	if calls := requests.Load(); int64(calls) != s.Usage.ModelCalls {
		t.Errorf("the model was called %d times, and %d calls are counted", calls, s.Usage.ModelCalls)
	}
	if left := reserved(); left != (budget.Amount{}) {
		t.Errorf("%+v is still reserved", left)
	}
	w.noDetached()
}

// TestResultPollingBacksOff: a call of minutes must not cost ten reads of the ledger a second.
func TestResultPollingBacksOff(t *testing.T) {
	for waited, want := range map[time.Duration]time.Duration{
		0:                      minAdoptDelay,
		500 * time.Millisecond: minAdoptDelay,
		20 * time.Second:       2 * time.Second,
		10 * time.Minute:       maxAdoptDelay,
	} {
		if got := adoptDelay(waited); got != want {
			t.Errorf("after %s the next read is after %s, want %s", waited, got, want)
		}
	}
}

// TestADeliveredCallReservesNothing reserves for a call whose result was delivered before: no result would release the
// reservation.
func TestADeliveredCallReservesNothing(t *testing.T) {
	e := newWorld(t, writerScript).current()
	a, err := e.actor("uid")
	if err != nil {
		t.Fatal(err)
	}
	e.budgets.Set(ledger.Agent{UID: "uid"}, agent.State{})
	call := agent.CallModel{Call: "m1", Attempt: 1, Reserve: budget.Amount{Tokens: 5}}
	for delivered, want := range map[bool]int64{true: 0, false: 5} {
		e.adopted.calls = map[string]*adoptedCall{a.ledgerKey(call): {key: a.ledgerKey(call), agent: "uid", delivered: delivered}}
		a.reserveAdopted(call)
		a.reserveAdopted(call)
		if _, got := e.budgets.TreeUsage("uid"); got.Tokens != want {
			t.Errorf("delivered %t: %d tokens are reserved, want %d", delivered, got.Tokens, want)
		}
		e.budgets.Release("uid", budget.Amount{Tokens: 5})
	}
}
