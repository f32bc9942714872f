// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

// hangingScript is a model whose reply never ends.
const hangingScript = `
name: hangs
rules:
- {match: {role: coder}, reply: {text: one two three, fault: {kind: hang, after: 1}}}
`

func TestCancelReachesRequestInFlight(t *testing.T) {
	w := newWorld(t, hangingScript)
	w.task("task", nil)
	w.until("the request", func() bool { return len(w.model.Requests()) == 1 })
	w.deliver("uid-task", agent.Cancelled{User: "alice"})
	s := w.untilEnded("task")
	if s.Outcome.Kind != agent.ErrorCancelled {
		t.Errorf("ended with %v", s.Outcome)
	}
	w.until("the call to be recorded as cancelled", func() bool {
		calls, err := w.ledger.ModelCalls(t.Context(), ledger.CallFilter{Agent: "uid-task", Status: ledger.StatusCancelled}, ledger.Page{})
		return err == nil && len(calls.Items) == 1
	})
	w.until("nothing to be in flight", func() bool { return w.engine.Stats().InFlight == 0 })
}

// The order of the start and the cancel of an agent is decided in the ledger, since the start may still be in flight.
func TestCancelAtStartPreventsCalls(t *testing.T) {
	w := newWorld(t, writerScript)
	c := config(agent.SubAgent, "task", "coder", 1)
	record := ledger.Agent{UID: "uid-task", Kind: "SubAgent", Namespace: "ns", Name: "task", Root: "uid-task", Role: "coder", Depth: 1, CreatedAt: time.Now()}
	for range 2 { // repeated cancels are ignored
		w.deliverError(w.engine.Start(record, agent.Started{Config: c}, agent.Cancelled{}))
	}
	if s := w.untilEnded("task"); s.Outcome.Kind != agent.ErrorCancelled {
		t.Errorf("ended with %v", s.Outcome)
	}
	calls, err := w.ledger.ModelCalls(t.Context(), ledger.CallFilter{Agent: "uid-task"}, ledger.Page{})
	if err != nil || len(calls.Items)+len(w.model.Requests()) > 0 {
		t.Errorf("it made model calls: %v, %d requests (%v)", calls.Items, len(w.model.Requests()), err)
	}
}

func TestCancelReachesStartingAgent(t *testing.T) {
	w := newWorld(t, hangingScript)
	w.task("task", nil)
	record := w.agents["task"]
	w.deliverError(w.engine.Start(record, agent.Started{Config: config(agent.SubAgent, "task", "coder", 1)}, agent.Cancelled{}))
	if s := w.untilEnded("task"); s.Outcome.Kind != agent.ErrorCancelled {
		t.Errorf("ended with %v", s.Outcome)
	}
}

func TestCancelCascadesToTool(t *testing.T) {
	w := newWorld(t, writerScript)
	running, stopped := make(chan struct{}), make(chan struct{})
	w.tools.beforeWrite = func(ctx context.Context, _ tool.Invocation) {
		close(running)
		<-ctx.Done()
		close(stopped)
	}
	w.task("task", nil)
	<-running
	w.deliver("uid-task", agent.Cancelled{})
	<-stopped
	if s := w.untilEnded("task"); s.Outcome.Kind != agent.ErrorCancelled {
		t.Errorf("ended with %v", s.Outcome)
	}
}

func TestAgentEndClosesCalls(t *testing.T) {
	w := newWorld(t, `
name: hangs
rules:
- {match: {role: coder}, reply: {text: one two three, fault: {kind: hang, after: 1}}}
- {match: {role: orchestrator}, reply: {text: Hello!}}
`)
	w.chat(nil)
	w.sendMessage("m1", "Hello")
	w.untilPosted("Hello!")
	w.task("task", nil)
	w.until("the requests", func() bool { return len(w.model.Requests()) == 2 })
	for _, uid := range []string{"uid-chat", "uid-task"} {
		if err := w.engine.End(t.Context(), uid); err != nil {
			t.Fatal(err)
		}
		w.until(uid+" to end", func() bool {
			record, err := w.ledger.Agent(t.Context(), uid)
			return err == nil && record.Status == ledger.StatusCancelled
		})
		open, err := w.ledger.OpenCalls(t.Context(), uid)
		if err != nil || len(open.Models)+len(open.Tools) > 0 {
			t.Errorf("%s has open calls: %v (%v)", uid, open, err)
		}
	}
	w.until("no agent to be in memory", func() bool { return w.engine.Stats() == Stats{} })
}

func TestBudgetsHoldForWholeTree(t *testing.T) {
	w := newWorld(t, "load")
	// Each agent's usage fits into the budget, but not all together.
	w.chat(func(l *agent.Limits) { l.MaxTokens = 30_000 })
	w.sendMessage("m1", "Load 40")
	w.until("all forty agents to end", func() bool {
		s, err := w.engine.View(context.Background(), "uid-chat")
		return err == nil && s.Children.Finished == 40
	})
	usage, err := w.ledger.Usage(t.Context(), ledger.ReportQuery{Scope: ledger.Scope{Root: "uid-chat"}}, ledger.Page{})
	if err != nil || len(usage.Items) != 1 {
		t.Fatalf("usage: %v (%v)", usage, err)
	}
	if used := usage.Items[0].PromptTokens + usage.Items[0].CompletionTokens; used > 30_000 {
		t.Errorf("the tree used %d of 30000 tokens", used)
	}
	exhausted := 0
	for _, node := range w.tree() {
		if node.ErrorKind == string(agent.ErrorBudgetExhausted) {
			exhausted++
		}
	}
	if exhausted == 0 {
		t.Error("no agent was refused: the test does not reach the limit")
	}
}

func TestRetriesWaitWithoutAGoroutine(t *testing.T) {
	w := newWorld(t, `
name: busy
rules:
- {match: {role: coder}, times: 1, reply: {error: {status: 500, message: overloaded}}}
- {match: {role: coder}, reply: {toolCalls: [{name: submit_result, arguments: {result: Done.}}]}}
`)
	w.task("task", nil)
	s := w.untilEnded("task")
	if s.Outcome.Kind != "" || s.Iterations != 1 || len(w.model.Requests()) != 2 {
		t.Errorf("ended with %v after %d requests", s.Outcome, len(w.model.Requests()))
	}
}

// A timer and the clock may differ by a millisecond. An agent that is woken early must be woken again.
func TestSlowClockKeepsWake(t *testing.T) {
	w := newWorld(t, `
name: busy
rules:
- {match: {role: coder}, times: 1, reply: {error: {status: 500, message: overloaded}}}
- {match: {role: coder}, reply: {toolCalls: [{name: submit_result, arguments: {result: Done.}}]}}
`)
	begin := time.Now()
	w.current().options.Now = func() time.Time { return begin.Add(time.Since(begin) / 2) }
	w.task("task", nil)
	w.untilEnded("task")
}

func TestFinalProviderErrorReachesUser(t *testing.T) {
	w := newWorld(t, `
name: broken
rules:
- {match: {role: orchestrator}, reply: {error: {status: 401, message: Incorrect API key provided}}}
`)
	w.chat(nil)
	w.sendMessage("m1", "Hello")
	w.untilPosted("Incorrect API key provided")
}

func TestSnapshotShortensTheReplay(t *testing.T) {
	w := newWorld(t, "nested-agents")
	w.stop()
	w.start(w.ledger).options.SnapshotEvery = 2
	w.chat(nil)
	w.sendMessage("m1", "Research the history of the lighthouse of Alexandria.")
	w.untilPosted("finished under Ptolemy II around 280 BC")
	history, err := w.ledger.Load(t.Context(), "uid-chat-1")
	if err != nil {
		t.Fatal(err)
	}
	if history.Snapshot == nil || len(history.Events) > 2 {
		t.Errorf("loading reads %d events after the snapshot", len(history.Events))
	}
	s, _, err := rebuild(history)
	if err != nil || !strings.Contains(s.String(), "Completed") {
		t.Errorf("rebuilt %v (%v)", s, err)
	}
}

func TestIdleAgentsAreEvictedAndReloaded(t *testing.T) {
	w := newWorld(t, "central-orchestration")
	w.chat(nil)
	w.sendMessage("m1", "Summarise what was released this year.")
	w.untilPosted("needs input: Which year is it?")
	w.until("all agents to wait", func() bool { w.engine.EvictIdle(0); return w.engine.Stats().Agents == 0 })
	// Only evicted agents wait for the person.
	w.sendMessage("m2", "It is 2024")
	w.untilPosted("Three releases came out")
}

// An orchestrator never ends on its own, and an idle one has nothing to cancel. Its deletion must be recorded anyway, or every
// later operator would take it over.
func TestDeletingIdleChatEndsIt(t *testing.T) {
	w := newWorld(t, "load")
	w.chat(nil)
	w.until("the chat to begin", func() bool {
		_, err := w.ledger.Agent(t.Context(), "uid-chat")
		return err == nil
	})
	if err := w.engine.End(t.Context(), "uid-chat"); err != nil {
		t.Fatal(err)
	}
	w.until("the chat to have ended", func() bool {
		record, err := w.ledger.Agent(t.Context(), "uid-chat")
		return err == nil && record.Status == ledger.StatusCancelled && !record.Live()
	})
}
