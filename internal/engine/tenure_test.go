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
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

// tamperedLedger lets a test stand between an engine and its ledger.
type tamperedLedger struct {
	ledger.Ledger

	attend func(ctx context.Context, shard int) (func() error, error)
	append func(ctx context.Context, b ledger.Batch) error
	load   func(uid string)
}

func (l *tamperedLedger) Attend(ctx context.Context, shard int) (func() error, error) {
	if l.attend != nil {
		return l.attend(ctx, shard)
	}
	return l.Ledger.Attend(ctx, shard)
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

// tampered begins a world whose engine is at work on a ledger that a test tampers with, with a chat that has nothing to do.
func tampered(t *testing.T) (*world, *Engine, *tamperedLedger) {
	t.Helper()
	w := newWorld(t, "load")
	w.stop()
	l := &tamperedLedger{Ledger: w.ledger}
	e := w.start(l)
	w.acquire(e, true)
	w.chat(nil)
	w.say("m1", "Load")
	w.untilPosted("Loaded.")
	w.untilIdleChat(e)
	return w, e, l
}

func (w *world) untilIdleChat(e *Engine) {
	w.t.Helper()
	w.until("the chat to have nothing to do", func() bool {
		s, err := e.View(w.t.Context(), "uid-chat")
		return err == nil && s.Phase == agent.PhaseIdle && len(s.Outbox) == 0 && !e.calling()
	})
}

// follow lets another engine take the shard, and the one at work notice.
func (w *world) follow(e *Engine) {
	w.t.Helper()
	h, err := w.ledger.Holding(w.t.Context(), onlyShard)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.ledger.Take(w.t.Context(), onlyShard, h.Epoch, "another", time.Now()); err != nil {
		w.t.Fatal(err)
	}
	wantFollowed(w.t, w.hold(e))
}

// Where the database cannot tell who lives, an engine that has handed over must not be faster than its successor.
func TestAnEngineWithoutALockHandsOverOnce(t *testing.T) {
	w := newWorld(t, "load")
	w.stop()
	none := &tamperedLedger{Ledger: w.ledger, attend: func(context.Context, int) (func() error, error) { return nil, ledger.ErrUnsupported }}
	first := w.start(none)
	w.acquire(first, true)
	held := w.hold(first)
	if err := w.ledger.Ask(t.Context(), ledger.Fence{Shard: onlyShard, Epoch: 1}, ledger.Request{ID: "successor", HandOver: true}); err != nil {
		t.Fatal(err)
	}
	wantFollowed(t, held)
	if taken, err := first.tryToTake(t.Context(), &asking{}, false); err != nil || taken {
		t.Errorf("the engine that handed over has taken the shard again: %v (%v)", taken, err)
	}
}

// A lock that is free may only mean that the connection was lost which held it: the engine is asked all the same.
func TestAnEngineWhoseLockIsLostIsAsked(t *testing.T) {
	w := newWorld(t, "load")
	first := w.current()
	w.acquire(first, true)
	held := w.hold(first)
	second := w.start(&tamperedLedger{Ledger: w.ledger, attend: func(context.Context, int) (func() error, error) {
		return func() error { return nil }, nil
	}})
	t.Cleanup(func() { _ = first.Close(context.Background()) })
	var asked asking
	for range 2 {
		taken, err := second.tryToTake(t.Context(), &asked, false)
		if err != nil || taken {
			t.Fatalf("an engine that is well was followed: %v (%v)", taken, err)
		}
		w.untilAnswered("")
	}
	select {
	case err := <-held:
		t.Error(err)
	default:
	}
}

func TestRecordEndsWhenTheEngineStandsDown(t *testing.T) {
	w, e, l := tampered(t)
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
	w.follow(e)
	close(out)
	if err := <-recorded; err == nil {
		t.Error("what was never recorded is said to be")
	}
}

// writingUntil begins a task whose write tool runs until finish is closed, or its context ends, which cut tells.
func writingUntil(t *testing.T) (w *world, first *Engine, finish, cut chan struct{}) {
	t.Helper()
	w = newWorld(t, writer)
	first = w.current()
	w.acquire(first, true)
	running := make(chan struct{}, 1)
	finish, cut = make(chan struct{}), make(chan struct{}, 1)
	w.tools.gate = func(ctx context.Context, _ tool.Call) {
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

func (w *world) untilAnswered(request string) {
	w.t.Helper()
	w.until("the request to be answered", func() bool {
		h, err := w.ledger.Holding(w.t.Context(), onlyShard)
		return err == nil && h.Answered == h.Request.ID && (request == "" && h.Answered != "" || h.Answered == request)
	})
}

// Its process is told to end while it hands over: calls in flight still have their time.
func TestAnEngineThatEndsWhileItHandsOverLetsItsCallsFinish(t *testing.T) {
	w, first, finish, cut := writingUntil(t)
	ctx, terminate := context.WithCancel(t.Context())
	held := make(chan error, 1)
	go func() { held <- first.Hold(ctx) }()
	if err := w.ledger.Ask(t.Context(), ledger.Fence{Shard: onlyShard, Epoch: 1}, ledger.Request{ID: "successor", HandOver: true}); err != nil {
		t.Fatal(err)
	}
	w.untilAnswered("successor")
	terminate()
	if err := w.ledger.Ask(t.Context(), ledger.Fence{Shard: onlyShard, Epoch: 1}, ledger.Request{ID: "bystander"}); err != nil {
		t.Fatal(err)
	}
	w.untilAnswered("bystander") // it lives, and says so
	close(finish)
	wantFollowed(t, held)
	if len(cut) > 0 {
		t.Error("the call in flight was cut")
	}
	open, err := w.ledger.OpenCalls(t.Context(), "uid-task")
	if err != nil || len(open.Tools) > 0 {
		t.Errorf("the result of the call is not on record: %v (%v)", open.Tools, err)
	}
}

// An engine that ends answers while its calls finish, so that a successor waits for them.
func TestAnEngineThatEndsAnswers(t *testing.T) {
	w, first, finish, cut := writingUntil(t)
	closed := make(chan error, 1)
	go func() { closed <- first.Close(t.Context()) }()
	if err := w.ledger.Ask(t.Context(), ledger.Fence{Shard: onlyShard, Epoch: 1}, ledger.Request{ID: "successor", HandOver: true}); err != nil {
		t.Fatal(err)
	}
	w.untilAnswered("successor")
	close(finish)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if h, err := w.ledger.Holding(t.Context(), onlyShard); err != nil || !h.Released || len(cut) > 0 {
		t.Errorf("it has not let its call finish and then released the shard: %+v, %d cut (%v)", h, len(cut), err)
	}
}

// Something is read slowly while the engine is followed, and takes over again: it must not be appended in the new epoch, of which the
// actor that read it is no part.
func TestNothingOfAnOldTenureIsAppendedInTheNext(t *testing.T) {
	w, e, l := tampered(t)
	w.until("the chat to leave memory", func() bool { return e.Evict(-time.Hour) > 0 })
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
	w.follow(e)
	w.acquire(e, false)
	w.untilIdleChat(e)
	close(out)
	if err := <-recorded; !errors.Is(err, ErrFollowed) {
		t.Errorf("a fact that the new tenure knows nothing of: %v", err)
	}
}

// The ledger refuses an append of the old epoch when the engine is at work again.
func TestALateRefusalDoesNotEndTheNextTenure(t *testing.T) {
	w, e, l := tampered(t)
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
	w.follow(e)
	w.acquire(e, false)
	fence, _ := e.tenure.current()
	close(out)
	if err := <-recorded; !errors.Is(err, ErrFollowed) {
		t.Errorf("the append of the old epoch: %v", err)
	}
	if !e.tenure.holds(fence) || e.held.Load() {
		t.Error("an answer to the old epoch has ended the new tenure")
	}
}

// An append is answered after the engine has stood down.
func TestALateAnswerLeavesNothingBehind(t *testing.T) {
	w, e, l := tampered(t)
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
	w.follow(e)
	close(out)
	if err := <-recorded; err != nil {
		t.Errorf("what is on record: %v", err)
	}
	_, known := e.Known("uid-chat")
	e.budgets.mu.Lock()
	defer e.budgets.mu.Unlock()
	if known || len(e.budgets.nodes) > 0 {
		t.Errorf("after standing down the engine knows the chat: %v, and counts %d agents", known, len(e.budgets.nodes))
	}
}
