// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

// acquire makes an engine the owner of the shard.
func (w *world) acquire(e *Engine, handOver bool) {
	w.t.Helper()
	if err := e.Acquire(w.t.Context(), handOver); err != nil {
		w.t.Fatal(err)
	}
	if _, err := e.Recover(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// hold keeps an engine the owner; the channel receives the result of Hold.
func (w *world) hold(e *Engine) <-chan error {
	held := make(chan error, 1)
	go func() { held <- e.Hold(w.t.Context()) }()
	return held
}

// writing starts a task whose write tool runs until finish is closed.
func writing(t *testing.T) (w *world, first *Engine, finish chan struct{}) {
	t.Helper()
	w = newWorld(t, writer)
	first = w.current()
	w.acquire(first, true)
	running := make(chan struct{}, 1)
	finish = make(chan struct{})
	w.tools.gate = func(context.Context, tool.Call) {
		running <- struct{}{}
		<-finish
	}
	w.task("task", nil)
	<-running
	return w, first, finish
}

func (w *world) wantWrites(want int) {
	w.t.Helper()
	if runs, _ := w.tools.count("write"); runs != want {
		w.t.Errorf("the write tool ran %d times, want %d", runs, want)
	}
}

func wantFollowed(t *testing.T, held <-chan error) {
	t.Helper()
	if err := <-held; !errors.Is(err, ErrFollowed) {
		t.Fatalf("the superseded engine returned %v", err)
	}
}

func TestAnEngineHandsOverWhenItsCallsHaveFinished(t *testing.T) {
	w, first, finish := writing(t)
	held := w.hold(first)
	second := w.start(w.ledger)
	acquired := make(chan error, 1)
	go func() { acquired <- second.Acquire(t.Context(), true) }()
	w.until("the first engine to answer", func() bool {
		h, err := w.ledger.Holding(t.Context(), onlyShard)
		return err == nil && h.Answered != "" && h.Answered == h.Request.ID
	})
	select {
	case err := <-acquired:
		t.Fatalf("the second engine did not wait for the call in flight (%v)", err)
	default:
	}
	close(finish)
	wantFollowed(t, held)
	if err := <-acquired; err != nil {
		t.Fatal(err)
	}
	if _, err := second.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.untilEnded("task").Outcome.Result.Text; got != "Written." {
		t.Errorf("the agent's result is %q: the result of its call was lost", got)
	}
	w.wantWrites(1)
}

// The first engine is stopped in the middle of a call, as by SIGSTOP: it does not answer, and another one takes over. When it
// continues, it must neither append nor make calls.
func TestAnEngineThatWakesUpAfterItWasFollowedStandsDown(t *testing.T) {
	w, first, finish := writing(t)
	second := w.start(w.ledger)
	second.options.Patience = 50 * time.Millisecond
	w.acquire(second, true)
	w.until("the second engine to continue", func() bool {
		s, err := second.View(t.Context(), "uid-task")
		return err == nil && s.Phase.Terminal()
	})
	before, err := w.ledger.Agent(t.Context(), "uid-task")
	if err != nil {
		t.Fatal(err)
	}
	held := w.hold(first)
	close(finish)
	wantFollowed(t, held)
	after, err := w.ledger.Agent(t.Context(), "uid-task")
	if err != nil || after.LastSeq != before.LastSeq {
		t.Errorf("the superseded engine has appended: %d events, then %d (%v)", before.LastSeq, after.LastSeq, err)
	}
	w.wantWrites(1)
	w.untilIdle(first)
}

// untilIdle waits until an engine has no agents in memory and no effects in flight.
func (w *world) untilIdle(e *Engine) {
	w.t.Helper()
	w.until("the engine to be idle", func() bool { return e.Stats() == Stats{} })
}

// stop ages the last confirmation of ownership by the given time.
func (t *tenure) stop(so time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sure = time.Now().Add(-so)
}

func TestAnEngineThatWasStoppedAsksBeforeItMakesACall(t *testing.T) {
	w := newWorld(t, writer)
	first := w.current()
	w.acquire(first, true)
	if !first.mayAct(t.Context()) {
		t.Fatal("an engine that has just acquired the shard may not act")
	}
	first.tenure.stop(time.Hour)
	if !first.mayAct(t.Context()) {
		t.Fatal("an engine that was suspended but not superseded may not act")
	}
	first.tenure.stop(time.Hour)
	if _, err := w.ledger.Take(t.Context(), onlyShard, 1, "another", time.Now()); err != nil {
		t.Fatal(err)
	}
	if first.mayAct(t.Context()) {
		t.Error("an engine that was superseded while it was suspended may act")
	}
	wantFollowed(t, w.hold(first))
}

func TestADeadEngineIsFollowedSoon(t *testing.T) {
	w := newWorld(t, writer)
	first := w.current()
	w.acquire(first, true)
	if err := first.tenure.end(); err != nil { // the process is gone without releasing the shard
		t.Fatal(err)
	}
	second := w.start(w.ledger)
	t.Cleanup(func() { _ = first.Close(context.Background()) })
	second.options.Patience = time.Hour
	w.acquire(second, true)
	if h, err := w.ledger.Holding(t.Context(), onlyShard); err != nil || h.Epoch != 2 {
		t.Errorf("the second engine did not take the shard: %+v (%v)", h, err)
	}
}

func TestAnEngineThatWasFollowedGoesOnAfterItsSuccessor(t *testing.T) {
	w := newWorld(t, "load")
	first := w.current()
	w.acquire(first, true)
	firstHeld := w.hold(first)
	w.chat(nil)
	w.say("m1", "Load")
	w.untilPosted("Loaded.")
	second := w.start(w.ledger)
	w.acquire(second, true)
	secondHeld := w.hold(second)
	wantFollowed(t, firstHeld)
	if h, err := w.ledger.Holding(t.Context(), onlyShard); err != nil || h.Epoch != 2 {
		t.Fatalf("the second engine did not supersede the first: %+v (%v)", h, err)
	}

	standsBy := make(chan error, 1)
	go func() { standsBy <- first.Acquire(t.Context(), false) }()
	w.until("the first engine to send a request", func() bool {
		h, err := w.ledger.Holding(t.Context(), onlyShard)
		return err == nil && h.Epoch == 2 && h.Answered != ""
	})
	select {
	case err := <-secondHeld:
		t.Fatalf("a standby engine superseded the owner: %v", err)
	default:
	}
	w.crash()
	if err := <-standsBy; err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	w.engine = first
	w.mu.Unlock()
	if _, err := first.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.say("m2", "Load")
	w.until("the second answer", func() bool { return len(w.posts) == 2 })
}

// An engine that handed over does not take the shard back before its successor takes it.
func TestAnEngineThatHasHandedOverGivesWay(t *testing.T) {
	w := newWorld(t, "load")
	first := w.current()
	w.acquire(first, true)
	held := w.hold(first)
	if err := w.ledger.Ask(t.Context(), ledger.Fence{Shard: onlyShard, Epoch: 1}, ledger.Request{ID: "successor", HandOver: true}); err != nil {
		t.Fatal(err)
	}
	wantFollowed(t, held)
	taken, err := first.tryToTake(t.Context(), &asking{}, false)
	if err != nil || taken {
		t.Errorf("the engine that handed over took the shard back: %v (%v)", taken, err)
	}
	first.options.Patience = time.Nanosecond // the successor is gone
	taken, err = first.tryToTake(t.Context(), &asking{}, false)
	if err != nil || !taken {
		t.Errorf("the shard was not taken although the successor is gone: %v (%v)", taken, err)
	}
}

// Acquire keeps waiting while the ledger is down: giving up would restart the process, which would then replace a healthy owner.
func TestAnEngineThatWaitsEndures(t *testing.T) {
	w := newWorld(t, "load")
	first := w.current()
	flaky := &flakyLedger{Ledger: w.ledger}
	flaky.down.Store(true)
	first.options.Ledger = flaky
	acquired := make(chan error, 1)
	go func() { acquired <- first.Acquire(t.Context(), false) }()
	w.until("the error to be reported", func() bool { return len(w.troubles) > 0 })
	flaky.down.Store(false)
	if err := <-acquired; err != nil {
		t.Fatal(err)
	}
}
