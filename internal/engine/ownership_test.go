// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

// tamperedLedger intercepts calls of the ledger.
type tamperedLedger struct {
	ledger.Ledger

	append func(ctx context.Context, b ledger.Batch) error
	load   func(uid string)
}

func (l *tamperedLedger) Append(ctx context.Context, b ledger.Batch) error {
	if l.append != nil {
		return l.append(ctx, b)
	}
	return l.Ledger.Append(ctx, b)
}

func (l *tamperedLedger) Load(ctx context.Context, uid string) (ledger.History, error) {
	if l.load != nil {
		l.load(uid)
	}
	return l.Ledger.Load(ctx, uid)
}

// newTamperedWorld returns a world with an idle chat whose engine uses a tamperedLedger.
func newTamperedWorld(t *testing.T) (*world, *Engine, *tamperedLedger) {
	t.Helper()
	w := newWorld(t, "load")
	w.stop()
	l := &tamperedLedger{Ledger: w.ledger}
	e := w.start(l)
	w.acquire(e)
	w.chat(nil)
	w.sendMessage("m1", "Load")
	w.untilPosted("Loaded.")
	w.untilIdleChat(e)
	return w, e, l
}

func (w *world) untilIdleChat(e *Engine) {
	w.t.Helper()
	w.until("the chat to be idle", func() bool {
		s, err := e.View(w.t.Context(), "uid-chat")
		return err == nil && s.Phase == agent.PhaseIdle && len(s.Outbox) == 0 && !e.hasCallsInFlight()
	})
}

// supersede makes another engine take the shard and waits until the owner notices.
func (w *world) supersede(e *Engine) {
	w.t.Helper()
	h, err := w.ledger.ReadOwner(w.t.Context(), ledger.FirstShard)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.ledger.TakeOver(w.t.Context(), ledger.FirstShard, h.Epoch, "another", time.Now()); err != nil {
		w.t.Fatal(err)
	}
	wantSuperseded(w.t, w.ownShard(e))
}

func TestRecordEndsWhenTheEngineStandsDown(t *testing.T) {
	w, e, l := newTamperedWorld(t)
	in, out := make(chan struct{}, 1), make(chan struct{})
	l.append = func(context.Context, ledger.Batch) error {
		in <- struct{}{}
		<-out
		return ledger.ErrUnavailable
	}
	recorded := make(chan error, 1)
	go func() {
		recorded <- e.Record(context.Background(), "uid-chat", agent.MessageArrived{Message: "m2", Text: "Load"})
	}()
	<-in
	w.supersede(e)
	close(out)
	if err := <-recorded; err == nil {
		t.Error("Record succeeded without an append")
	}
}

// startCancellableWriting starts a task whose write tool runs until finish is closed or its context ends, which closes cut.
func startCancellableWriting(t *testing.T) (w *world, first *Engine, finish, cut chan struct{}) {
	t.Helper()
	w = newWorld(t, writerScript)
	first = w.current()
	w.acquire(first)
	running := make(chan struct{}, 1)
	finish, cut = make(chan struct{}), make(chan struct{}, 1)
	w.tools.beforeWrite = func(ctx context.Context, _ tool.Invocation) {
		running <- struct{}{}
		select {
		case <-finish:
		case <-ctx.Done():
			cut <- struct{}{}
		}
	}
	w.task("task", nil)
	<-running
	return w, first, finish, cut
}

// A closing engine keeps the shard while its calls finish.
func TestClosingEngineReleasesTheShardLast(t *testing.T) {
	w, first, finish, cut := startCancellableWriting(t)
	closed := make(chan error, 1)
	go func() { closed <- first.Close(t.Context()) }()
	if h, err := w.ledger.ReadOwner(t.Context(), ledger.FirstShard); err != nil || h.Released {
		t.Errorf("it released the shard before its call finished: %+v (%v)", h, err)
	}
	close(finish)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if h, err := w.ledger.ReadOwner(t.Context(), ledger.FirstShard); err != nil || !h.Released || len(cut) > 0 {
		t.Errorf("it did not let its call finish before it released the shard: %+v, %d cancelled (%v)", h, len(cut), err)
	}
}

// An agent is read slowly while the engine is superseded and takes over again. The stale read must not be appended in the new
// epoch.
func TestStaleRead_NewEpoch_NotAppended(t *testing.T) {
	w, e, l := newTamperedWorld(t)
	w.until("the chat to be evicted", func() bool { return e.EvictIdle(-time.Hour) > 0 })
	in, out := make(chan struct{}), make(chan struct{})
	var slow atomic.Bool
	l.load = func(string) {
		if slow.CompareAndSwap(false, true) {
			close(in)
			<-out
		}
	}
	recorded := make(chan error, 1)
	go func() {
		recorded <- e.Record(context.Background(), "uid-chat", agent.MessageArrived{Message: "m2", Text: "Load"})
	}()
	<-in
	w.supersede(e)
	w.acquire(e)
	w.untilIdleChat(e)
	close(out)
	if err := <-recorded; !errors.Is(err, ErrSuperseded) {
		t.Errorf("a fact from the old epoch: %v", err)
	}
}

// The ledger refuses an append of the old epoch after the engine has acquired a new one.
func TestLateRefusal_NewEpoch_Continues(t *testing.T) {
	w, e, l := newTamperedWorld(t)
	in, out := make(chan struct{}), make(chan struct{})
	var once sync.Once
	l.append = func(ctx context.Context, b ledger.Batch) error {
		if b.Fence.Epoch == 1 {
			once.Do(func() { close(in) })
			<-out
		}
		return w.ledger.Append(ctx, b)
	}
	recorded := make(chan error, 1)
	go func() {
		recorded <- e.Record(context.Background(), "uid-chat", agent.MessageArrived{Message: "m2", Text: "Load"})
	}()
	<-in
	w.supersede(e)
	w.acquire(e)
	fence, _ := e.ownership.current()
	close(out)
	if err := <-recorded; !errors.Is(err, ErrSuperseded) {
		t.Errorf("the append of the old epoch: %v", err)
	}
	if !e.ownership.owns(fence) || e.awaitsRecovery.Load() {
		t.Error("an answer for the old epoch ended the new ownership")
	}
}

// An append is answered after the engine has stood down.
func TestLateAppendAnswerLeavesNoState(t *testing.T) {
	w, e, l := newTamperedWorld(t)
	in, out := make(chan struct{}), make(chan struct{})
	var slow atomic.Bool
	l.append = func(ctx context.Context, b ledger.Batch) error {
		err := w.ledger.Append(ctx, b)
		if slow.CompareAndSwap(false, true) {
			close(in)
			<-out
		}
		return err
	}
	recorded := make(chan error, 1)
	go func() {
		recorded <- e.Record(context.Background(), "uid-chat", agent.MessageArrived{Message: "m2", Text: "Load"})
	}()
	<-in
	w.supersede(e)
	close(out)
	if err := <-recorded; err != nil {
		t.Errorf("the recorded fact: %v", err)
	}
	_, known := e.FindLive("uid-chat")
	if used, _ := e.budgets.TreeUsage("uid-chat"); known || used != (budget.Amount{}) {
		t.Errorf("after standing down the engine still has the chat: %v, and counts %+v", known, used)
	}
}
