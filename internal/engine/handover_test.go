// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

// hookedLedger calls functions before and after appends.
type hookedLedger struct {
	ledger.Ledger

	before, after func(ledger.Batch)
}

func (h *hookedLedger) Append(ctx context.Context, b ledger.Batch) error {
	if h.before != nil {
		h.before(b)
	}
	err := h.Ledger.Append(ctx, b)
	if err == nil && h.after != nil {
		h.after(b)
	}
	return err
}

func TestViewDuringStart(t *testing.T) {
	w := newWorld(t, writerScript)
	w.stop()
	hooked := &hookedLedger{Ledger: w.ledger}
	e := w.start(hooked)
	hooked.after = func(b ledger.Batch) {
		if b.Create != nil { // durable, but not yet the engine's state
			if _, err := e.View(context.Background(), b.Agent); err != nil {
				t.Error(err)
			}
		}
	}
	w.task("task", nil)
	w.untilEnded("task")
}

// The connection breaks after the ledger has committed an append and before it answers.
func TestLostAppendAnswerIsRecovered(t *testing.T) {
	w := newWorld(t, writerScript)
	w.stop()
	var lost atomic.Int32
	w.start(&lossyLedger{Ledger: w.ledger, loses: func(b ledger.Batch) bool { return lost.Add(1)%2 == 0 }})
	w.task("task", nil)
	w.untilEnded("task")
	if lost.Load() < 2 {
		t.Error("no answer was lost: the test checks nothing")
	}
}

// lossyLedger commits appends and loses some of the answers.
type lossyLedger struct {
	ledger.Ledger

	loses func(ledger.Batch) bool
}

func (l *lossyLedger) Append(ctx context.Context, b ledger.Batch) error {
	err := l.Ledger.Append(ctx, b)
	if err == nil && l.loses(b) {
		return ledger.ErrUnavailable
	}
	return err
}

func TestTakeOverReadsTheLedger(t *testing.T) {
	w := newWorld(t, writerScript)
	first := w.current()
	running, finish := make(chan struct{}, 1), make(chan struct{})
	w.tools.beforeWrite = func(context.Context, tool.Invocation) {
		running <- struct{}{}
		<-finish
	}
	w.task("task", nil)
	<-running
	second := w.start(w.ledger)
	if _, err := second.View(t.Context(), "uid-task"); err != nil { // the new leader's controllers read the agent
		t.Fatal(err)
	}
	close(finish) // the old leader shuts down gracefully: the result of its tool is recorded
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.untilEnded("task")
	if runs, _ := w.tools.count("write"); runs != 1 {
		t.Errorf("the write tool ran %d times", runs)
	}
}

func TestTakeOverKeepsOwnCalls(t *testing.T) {
	w := newWorld(t, writerScript)
	running, finish := make(chan struct{}, 1), make(chan struct{})
	w.tools.beforeWrite = func(ctx context.Context, _ tool.Invocation) {
		running <- struct{}{}
		select {
		case <-ctx.Done():
		case <-finish:
		}
	}
	w.task("task", nil)
	<-running
	if _, err := w.current().Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until("the take-over to be recorded", func() bool {
		a, err := w.ledger.Agent(t.Context(), "uid-task")
		return err == nil && a.LastSeq >= 3
	})
	close(finish)
	if got := w.untilEnded("task").Outcome.Result.Text; got != "Written." {
		t.Errorf("the agent's result is %q", got)
	}
}

func TestChildrenCountOnceAfterRestart(t *testing.T) {
	w := newWorld(t, "nested-agents")
	w.chat(func(l *agent.Limits) { l.MaxTokens = 10_000_000 })
	w.sendMessage("m1", "Research the history of the lighthouse of Alexandria.")
	w.untilPosted("finished under Ptolemy II around 280 BC")
	w.restart()
	w.reconcile("uid-chat-1")
	s, err := w.current().View(t.Context(), "uid-chat")
	if err != nil {
		t.Fatal(err)
	}
	if total, _ := w.current().budgets.TreeUsage("uid-chat"); total.Tokens != s.Budget.Used.Tokens {
		t.Errorf("the tree counts %d tokens, the chat's state has %d", total.Tokens, s.Budget.Used.Tokens)
	}
}

func TestDrainWaitsForTheLedger(t *testing.T) {
	w := newWorld(t, writerScript)
	w.stop()
	flaky := &flakyLedger{Ledger: w.ledger}
	e := w.start(flaky)
	running, finish := make(chan struct{}, 1), make(chan struct{})
	w.tools.beforeWrite = func(context.Context, tool.Invocation) {
		running <- struct{}{}
		<-finish
	}
	w.task("task", nil)
	<-running
	flaky.down.Store(true)
	closed := make(chan error, 1)
	go func() { closed <- e.Close(context.Background()) }()
	close(finish)
	w.until("the error to be reported", func() bool { return len(w.errors) > 0 })
	flaky.down.Store(false)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	open, err := w.ledger.OpenCalls(t.Context(), "uid-task")
	if err != nil || len(open.Tools) > 0 {
		t.Errorf("the result of a tool that had finished is lost: %v (%v)", open.Tools, err)
	}
}

func TestDeliveriesWaitForTakeOver(t *testing.T) {
	w := newWorld(t, writerScript)
	w.task("task", func(c *agent.Config) { c.Role.Approval = agent.ApproveAlways })
	w.until("the agent to wait", func() bool {
		s, err := w.engine.View(context.Background(), "uid-task")
		return err == nil && s.WaitsForPerson()
	})
	w.crash()
	e := w.start(w.ledger)
	e.awaitsRecovery.Store(true)
	before, err := w.ledger.Agent(t.Context(), "uid-task")
	if err != nil {
		t.Fatal(err)
	}
	w.deliver("uid-task", agent.Cancelled{}) // the controllers deliver before the recovery
	if _, err := e.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.untilEnded("task")
	events, err := w.ledger.Events(t.Context(), "uid-task", before.LastSeq, 10)
	if err != nil || len(events) < 2 || events[0].Type != "Restarted" || events[1].Type != "Cancelled" {
		t.Errorf("after the restart the log has %v (%v), want Restarted first", events, err)
	}
}
