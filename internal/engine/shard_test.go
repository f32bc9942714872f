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
	if err := e.Acquire(w.t.Context(), Claim{HandOver: handOver}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := e.Recover(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// ownShard keeps an engine the owner; the channel receives the result of OwnShard.
func (w *world) ownShard(e *Engine) <-chan error {
	held := make(chan error, 1)
	go func() { held <- e.OwnShard(w.t.Context()) }()
	return held
}

// startWriting starts a task whose write tool runs until finish is closed.
func startWriting(t *testing.T) (w *world, first *Engine, finish chan struct{}) {
	t.Helper()
	w = newWorld(t, writerScript)
	first, finish = w.startWriting()
	return w, first, finish
}

func (w *world) startWriting() (first *Engine, finish chan struct{}) {
	w.t.Helper()
	first = w.current()
	w.acquire(first, true)
	running := make(chan struct{}, 1)
	finish = make(chan struct{})
	w.tools.beforeWrite = func(context.Context, tool.Invocation) {
		running <- struct{}{}
		<-finish
	}
	w.task("task", nil)
	<-running
	return first, finish
}

func (w *world) wantWrites(want int) {
	w.t.Helper()
	if runs, _ := w.tools.count("write"); runs != want {
		w.t.Errorf("the write tool ran %d times, want %d", runs, want)
	}
}

func wantSuperseded(t *testing.T, held <-chan error) {
	t.Helper()
	if err := <-held; !errors.Is(err, ErrSuperseded) {
		t.Fatalf("the superseded engine returned %v", err)
	}
}

func TestHandOverWaitsForCallsInFlight(t *testing.T) {
	w, first, finish := startWriting(t)
	held := w.ownShard(first)
	second := w.start(w.ledger)
	acquired := make(chan error, 1)
	go func() { acquired <- second.Acquire(t.Context(), Claim{HandOver: true}) }()
	w.until("the first engine to answer", func() bool {
		h, err := w.ledger.ReadOwner(t.Context(), ledger.WholeLedger)
		return err == nil && h.Answered != "" && h.Answered == h.Request.ID
	})
	select {
	case err := <-acquired:
		t.Fatalf("the second engine did not wait for the call in flight (%v)", err)
	default:
	}
	close(finish)
	wantSuperseded(t, held)
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
func TestSupersededEngineStandsDown(t *testing.T) {
	w, first, finish := startWriting(t)
	second := w.start(w.ledger)
	second.options.TakeOverAfter = 50 * time.Millisecond
	w.acquire(second, true)
	w.until("the second engine to continue", func() bool {
		s, err := second.View(t.Context(), "uid-task")
		return err == nil && s.Phase.Terminal()
	})
	before, err := w.ledger.Agent(t.Context(), "uid-task")
	if err != nil {
		t.Fatal(err)
	}
	held := w.ownShard(first)
	close(finish)
	wantSuperseded(t, held)
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
func (t *ownership) stop(so time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.confirmedAt = time.Now().Add(-so)
}

func TestSuspendedEngineConfirmsItsEpochBeforeACall(t *testing.T) {
	w := newWorld(t, writerScript)
	first := w.current()
	w.acquire(first, true)
	if !first.mayCall(t.Context()) {
		t.Fatal("an engine that has just acquired the shard may not act")
	}
	first.ownership.stop(time.Hour)
	if !first.mayCall(t.Context()) {
		t.Fatal("an engine that was suspended but not superseded may not act")
	}
	first.ownership.stop(time.Hour)
	if _, err := w.ledger.TakeOver(t.Context(), ledger.WholeLedger, 1, "another", time.Now()); err != nil {
		t.Fatal(err)
	}
	if first.mayCall(t.Context()) {
		t.Error("an engine that was superseded while it was suspended may act")
	}
	wantSuperseded(t, w.ownShard(first))
}

func TestDeadEngineIsReplacedSoon(t *testing.T) {
	w := newWorld(t, writerScript)
	first := w.current()
	w.acquire(first, true)
	if err := first.ownership.end(); err != nil { // the process is gone without releasing the shard
		t.Fatal(err)
	}
	second := w.start(w.ledger)
	t.Cleanup(func() { _ = first.Close(context.Background()) })
	second.options.TakeOverAfter = time.Hour
	w.acquire(second, true)
	if h, err := w.ledger.ReadOwner(t.Context(), ledger.WholeLedger); err != nil || h.Epoch != 2 {
		t.Errorf("the second engine did not take the shard: %+v (%v)", h, err)
	}
}

func TestSupersededEngineTakesOverAgain(t *testing.T) {
	w := newWorld(t, "load")
	first := w.current()
	w.acquire(first, true)
	firstHeld := w.ownShard(first)
	w.chat(nil)
	w.sendMessage("m1", "Load")
	w.untilPosted("Loaded.")
	second := w.start(w.ledger)
	w.acquire(second, true)
	secondHeld := w.ownShard(second)
	wantSuperseded(t, firstHeld)
	if h, err := w.ledger.ReadOwner(t.Context(), ledger.WholeLedger); err != nil || h.Epoch != 2 {
		t.Fatalf("the second engine did not supersede the first: %+v (%v)", h, err)
	}

	standsBy := make(chan error, 1)
	go func() { standsBy <- first.Acquire(t.Context(), Claim{HandOver: false}) }()
	w.until("the first engine to send a request", func() bool {
		h, err := w.ledger.ReadOwner(t.Context(), ledger.WholeLedger)
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
	w.sendMessage("m2", "Load")
	w.until("the second answer", func() bool { return len(w.posts) == 2 })
}

// An engine that handed over does not take the shard back before its successor takes it.
func TestEngineDoesNotRetakeAShardItHandedOver(t *testing.T) {
	w := newWorld(t, "load")
	first := w.current()
	w.acquire(first, true)
	held := w.ownShard(first)
	if err := w.ledger.SendRequest(t.Context(), ledger.Fence{Shard: ledger.WholeLedger, Epoch: 1}, ledger.OwnerRequest{ID: "successor", HandOver: true}); err != nil {
		t.Fatal(err)
	}
	wantSuperseded(t, held)
	taken, err := first.tryAcquire(t.Context(), &shardRequest{}, Claim{HandOver: false})
	if err != nil || taken {
		t.Errorf("the engine that handed over took the shard back: %v (%v)", taken, err)
	}
	first.options.TakeOverAfter = time.Nanosecond // the successor is gone
	taken, err = first.tryAcquire(t.Context(), &shardRequest{}, Claim{HandOver: false})
	if err != nil || !taken {
		t.Errorf("the shard was not taken although the successor is gone: %v (%v)", taken, err)
	}
}

// Acquire keeps waiting while the ledger is down: giving up would restart the process, which would then replace a healthy owner.
func TestAcquireKeepsWaitingWhileTheLedgerIsDown(t *testing.T) {
	w := newWorld(t, "load")
	first := w.current()
	flaky := &flakyLedger{Ledger: w.ledger}
	flaky.down.Store(true)
	first.options.Ledger = flaky
	acquired := make(chan error, 1)
	go func() { acquired <- first.Acquire(t.Context(), Claim{HandOver: false}) }()
	w.until("the error to be reported", func() bool { return len(w.errors) > 0 })
	flaky.down.Store(false)
	if err := <-acquired; err != nil {
		t.Fatal(err)
	}
}
