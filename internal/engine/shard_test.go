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
func (w *world) acquire(e *Engine) {
	w.t.Helper()
	if err := e.Acquire(w.t.Context(), nil); err != nil {
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
	first.options.Name = "first"
	w.acquire(first)
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

func wantSuperseded(t testing.TB, held <-chan error) {
	t.Helper()
	if err := <-held; !errors.Is(err, ErrSuperseded) {
		t.Fatalf("the superseded engine returned %v", err)
	}
}

// join lets an operator be live until the row expires.
func (w *world) join(e *Engine, ttl time.Duration) {
	w.t.Helper()
	if err := w.ledger.RenewReplica(w.t.Context(), ledger.Replica{ID: e.options.Name, Name: e.options.Name}, ttl); err != nil {
		w.t.Fatal(err)
	}
}

// A live owner keeps the shard until it hands over; its call in flight is not lost.
func TestAcquireWaitsForTheHandOver(t *testing.T) {
	w, first, finish := startWriting(t)
	w.join(first, time.Hour)
	second := w.start(w.ledger)
	second.options.Name = "second"
	acquired := make(chan error, 1)
	go func() { acquired <- second.Acquire(t.Context(), nil) }()
	held := w.ownShard(first)
	if err := second.tryAcquire(t.Context()); !errors.Is(err, ledger.ErrOwned) {
		t.Fatalf("the shard of a live owner: %v", err)
	}
	handed := make(chan struct{})
	go func() {
		defer close(handed)
		_ = first.HandOver(t.Context())
	}()
	if err := <-acquired; err != nil {
		t.Fatal(err)
	}
	wantSuperseded(t, held)
	<-handed
	if _, err := second.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(finish)
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
	w.acquire(second)
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
	w.acquire(first)
	if !first.mayCall(t.Context()) {
		t.Fatal("an engine that has just acquired the shard may not act")
	}
	first.ownership.stop(time.Hour)
	if !first.mayCall(t.Context()) {
		t.Fatal("an engine that was suspended but not superseded may not act")
	}
	first.ownership.stop(time.Hour)
	if _, err := w.ledger.TakeOver(t.Context(), ledger.FirstShard, 1, "another", time.Now()); err != nil {
		t.Fatal(err)
	}
	if first.mayCall(t.Context()) {
		t.Error("an engine that was superseded while it was suspended may act")
	}
	wantSuperseded(t, w.ownShard(first))
}

// Acquire keeps waiting while the ledger is down: giving up would restart the process, which would then replace a healthy owner.
func TestAcquire_LedgerDown_Waits(t *testing.T) {
	w := newWorld(t, "load")
	first := w.current()
	flaky := &flakyLedger{Ledger: w.ledger}
	flaky.down.Store(true)
	first.options.Ledger = flaky
	acquired := make(chan error, 1)
	go func() { acquired <- first.Acquire(t.Context(), nil) }()
	w.until("the error to be reported", func() bool { return len(w.errors) > 0 })
	flaky.down.Store(false)
	if err := <-acquired; err != nil {
		t.Fatal(err)
	}
}

// An operator that was suspended may hand over a shard before it notices that another one has it.
func TestHandOverOfSupersededEngineIsReported(t *testing.T) {
	w, first, finish := startWriting(t)
	defer close(finish)
	second := w.start(w.ledger)
	w.acquire(second)
	if err := first.HandOver(t.Context()); !errors.Is(err, ErrSuperseded) {
		t.Errorf("the hand-over: %v", err)
	}
	if err := second.HandOver(t.Context()); err != nil {
		t.Errorf("the hand-over of the owner: %v", err)
	}
}
