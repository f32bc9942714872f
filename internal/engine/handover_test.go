// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

// hookedLedger lets a test look, or interfere, around appends.
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

func TestLookingAtAnAgentWhileItBeginsDoesNoHarm(t *testing.T) {
	w := newWorld(t, writer)
	w.stop()
	hooked := &hookedLedger{Ledger: w.ledger}
	e := w.start(hooked)
	hooked.after = func(b ledger.Batch) {
		if b.Create != nil { // durable, and not yet the engine's state
			if _, err := e.View(context.Background(), b.Agent); err != nil {
				t.Error(err)
			}
		}
	}
	w.task("task", nil)
	w.untilEnded("task")
}

func TestATakeOverThatLosesARaceIsTriedAgain(t *testing.T) {
	w := newWorld(t, writer)
	running := make(chan struct{}, 1)
	w.tools.gate = func(ctx context.Context, _ tool.Call) {
		running <- struct{}{}
		<-ctx.Done()
	}
	w.task("task", nil)
	<-running
	w.crash()
	w.tools.gate = nil
	var once sync.Once
	hooked := &hookedLedger{Ledger: w.ledger, before: func(b ledger.Batch) {
		once.Do(func() { // the last words of the engine that is ending
			data := []byte(`{"v":1,"type":"ChildWaits","at":1,"fact":{"child":"nobody"}}`)
			err := w.ledger.Append(context.Background(), ledger.Batch{Agent: b.Agent, After: b.After,
				Events: []ledger.Event{{Type: "ChildWaits", At: time.Now(), Data: data}}})
			if err != nil {
				t.Error(err)
			}
		})
	}}
	if _, err := w.start(hooked).Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.untilEnded("task")
}

func TestATakeOverReadsTheLedgerAndNotItsMemory(t *testing.T) {
	w := newWorld(t, writer)
	first := w.current()
	running, finish := make(chan struct{}, 1), make(chan struct{})
	w.tools.gate = func(context.Context, tool.Call) {
		running <- struct{}{}
		<-finish
	}
	w.task("task", nil)
	<-running
	second := w.start(w.ledger)
	if _, err := second.View(t.Context(), "uid-task"); err != nil { // the new leader's controllers look around
		t.Fatal(err)
	}
	close(finish) // the old leader ends gracefully: its tool's result is recorded
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

func TestATakeOverSparesWhatThisEngineRunsItself(t *testing.T) {
	w := newWorld(t, writer)
	running, finish := make(chan struct{}, 1), make(chan struct{})
	w.tools.gate = func(ctx context.Context, _ tool.Call) {
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
	w.until("the take-over to be on record", func() bool {
		a, err := w.ledger.Agent(t.Context(), "uid-task")
		return err == nil && a.LastSeq >= 3
	})
	close(finish)
	if got := w.untilEnded("task").Outcome.Result.Text; got != "Written." {
		t.Errorf("the agent says %q", got)
	}
}

func TestFinishedChildrenCountOnceAfterARestart(t *testing.T) {
	w := newWorld(t, "nested-agents")
	w.chat(func(l *agent.Limits) { l.MaxTokens = 10_000_000 })
	w.say("m1", "Research the history of the lighthouse of Alexandria.")
	w.untilPosted("finished under Ptolemy II around 280 BC")
	w.restart()
	w.reconcile("uid-chat-1")
	s, err := w.current().View(t.Context(), "uid-chat")
	if err != nil {
		t.Fatal(err)
	}
	b := w.current().budgets
	b.mu.Lock()
	defer b.mu.Unlock()
	if total := b.nodes["uid-chat"].allUsed; total.Tokens != s.Budget.Used.Tokens {
		t.Errorf("the tree counts %d tokens, the chat's state has %d", total.Tokens, s.Budget.Used.Tokens)
	}
}

func TestADrainWaitsForTheLedger(t *testing.T) {
	w := newWorld(t, writer)
	w.stop()
	flaky := &flakyLedger{Ledger: w.ledger}
	e := w.start(flaky)
	running, finish := make(chan struct{}, 1), make(chan struct{})
	w.tools.gate = func(context.Context, tool.Call) {
		running <- struct{}{}
		<-finish
	}
	w.task("task", nil)
	<-running
	flaky.down.Store(true)
	closed := make(chan error, 1)
	go func() { closed <- e.Close(context.Background()) }()
	close(finish)
	w.until("the trouble to be told", func() bool { return len(w.troubles) > 0 })
	flaky.down.Store(false)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	open, err := w.ledger.OpenCalls(t.Context(), "uid-task")
	if err != nil || len(open.Tools) > 0 {
		t.Errorf("the result of a tool that had finished is lost: %v (%v)", open.Tools, err)
	}
}

func TestNothingIsHeardBeforeTheTakeOver(t *testing.T) {
	w := newWorld(t, writer)
	w.task("task", func(c *agent.Config) { c.Role.Approval = agent.ApproveAlways })
	w.until("the agent to wait", func() bool {
		s, err := w.engine.View(context.Background(), "uid-task")
		return err == nil && s.WaitsForPerson()
	})
	w.crash()
	e := w.start(w.ledger)
	e.held.Store(true)
	before, err := w.ledger.Agent(t.Context(), "uid-task")
	if err != nil {
		t.Fatal(err)
	}
	w.deliver("uid-task", agent.Cancelled{}) // the controllers are faster than the recovery
	if _, err := e.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.untilEnded("task")
	events, err := w.ledger.Events(t.Context(), "uid-task", before.LastSeq, 10)
	if err != nil || len(events) < 2 || events[0].Type != "Restarted" || events[1].Type != "Cancelled" {
		t.Errorf("after the restart the log has %v (%v), want Restarted first", events, err)
	}
}

// An engine is not told what another one does; who asks for the newest state gets it all the same.
func TestARefreshedViewKnowsWhatAnotherEngineDid(t *testing.T) {
	w := newWorld(t, "load")
	w.chat(nil)
	w.say("m1", "Load")
	w.untilPosted("Loaded.")
	first := w.engine
	if err := first.Record(t.Context(), "uid-chat", agent.MessageArrived{Message: "m2", Text: "Load"}); err != nil {
		t.Fatal(err)
	}
	w.until("the chat to have nothing to do", func() bool {
		s, err := first.View(t.Context(), "uid-chat")
		return err == nil && s.Phase == agent.PhaseIdle && len(s.Outbox) == 0
	})
	second := w.start(w.ledger)
	t.Cleanup(func() {
		if err := first.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := second.Record(t.Context(), "uid-chat", agent.MessageArrived{Message: "m3", Text: "Load"}); err != nil {
		t.Fatal(err)
	}
	if s, err := first.View(t.Context(), "uid-chat"); err != nil || s.Heard("m3") {
		t.Fatalf("the first engine has heard already (%v): this test shows nothing", err)
	}
	if err := first.Refresh(t.Context(), "uid-chat"); err != nil {
		t.Fatal(err)
	}
	if s, err := first.View(t.Context(), "uid-chat"); err != nil || !s.Heard("m3") {
		t.Errorf("the refreshed view has not heard of the message (%v)", err)
	}
	if err := first.Refresh(t.Context(), "uid-nobody"); err != nil {
		t.Errorf("an agent that does not exist: %v", err)
	}
}

// openCallsHook lets something happen just after an engine has looked for open calls.
type openCallsHook struct {
	ledger.Ledger

	after func()
}

func (h *openCallsHook) OpenCalls(ctx context.Context, uid string) (ledger.OpenCalls, error) {
	open, err := h.Ledger.OpenCalls(ctx, uid)
	h.after()
	return open, err
}

// A second engine takes over in the very moment in which the first begins a write: only one of them may make it.
func TestAWriteThatBeginsDuringATakeOverIsMadeOnce(t *testing.T) {
	w := newWorld(t, writer)
	w.stop()
	begins, mayBegin, running := make(chan struct{}), make(chan struct{}), make(chan struct{}, 2)
	w.tools.gate = func(ctx context.Context, _ tool.Call) {
		running <- struct{}{}
		<-ctx.Done()
	}
	first := w.start(&hookedLedger{Ledger: w.ledger, before: func(b ledger.Batch) {
		if len(b.ToolCalls) > 0 {
			close(begins)
			<-mayBegin
		}
	}})
	t.Cleanup(func() { _ = first.Close(t.Context()) })
	w.task("task", nil)
	<-begins
	var once sync.Once
	second := w.start(&openCallsHook{Ledger: w.ledger, after: func() {
		once.Do(func() {
			close(mayBegin)
			<-running
		})
	}})
	if _, err := second.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until("the task to end", func() bool {
		s, err := second.View(t.Context(), "uid-task")
		return err == nil && s.Phase.Terminal() || len(running) > 0
	})
	if runs, _ := w.tools.count("write"); runs != 1 {
		t.Errorf("the write ran %d times", runs)
	}
}

// An engine that was overtaken waits to see whether the other one goes on. By then the agent may have left memory.
func TestATakeOverFindsAnAgentThatHasLeftMemory(t *testing.T) {
	w := newWorld(t, "load")
	w.chat(nil)
	w.say("m1", "Load")
	w.untilPosted("Loaded.")
	e := w.current()
	w.until("the chat to have nothing to do", func() bool {
		s, err := e.View(t.Context(), "uid-chat")
		return err == nil && s.Phase == agent.PhaseIdle && len(s.Outbox) == 0
	})
	overtaken, err := e.actor("uid-chat")
	if err != nil {
		t.Fatal(err)
	}
	w.until("the chat to leave memory", func() bool { return e.Evict(-time.Hour) > 0 })

	// The other engine records a message, and dies before it answers.
	data, err := json.Marshal(agent.Event{At: agent.Time(time.Now().UnixMilli()), Fact: agent.MessageArrived{Message: "m2", Text: "Load"}})
	if err != nil {
		t.Fatal(err)
	}
	before, err := w.ledger.Agent(t.Context(), "uid-chat")
	if err != nil {
		t.Fatal(err)
	}
	lost := ledger.Batch{Agent: "uid-chat", After: before.LastSeq, Events: []ledger.Event{{Type: "MessageArrived", At: time.Now(), Data: data}}}
	if err := w.ledger.Append(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	e.options.TakeOverAfter = time.Millisecond
	overtaken.takeOverIfStill(before.LastSeq + 1)
	w.until("the message to be answered", func() bool { return len(w.posts) == 2 })
}
