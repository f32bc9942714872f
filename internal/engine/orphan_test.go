// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// An object that is deleted while no engine is running leaves an agent behind, of which the next engine has only the
// name.
func TestLiveNamed(t *testing.T) {
	w := newWorld(t, "load")
	w.chat(nil)
	w.sendMessage("m1", "Load")
	w.untilPosted("Loaded.")
	w.restart()
	for name, want := range map[string]int{"chat": 1, "another": 0} {
		live, err := w.engine.LiveNamed(t.Context(), "AgentChat", "ns", name)
		if err != nil || len(live) != want {
			t.Errorf("%d live agents are called %s, want %d (%v)", len(live), name, want, err)
		}
	}
}

// hangingTreeScript is a script whose agents delegate once and then wait for a model that does not reply.
const hangingTreeScript = `
name: hanging
rules:
- {match: {role: orchestrator, lastMessage: /^Go$/}, reply: {toolCalls: [{name: delegate_to_agent, arguments: {role: coder, task: Delegate}}]}}
- {match: {role: orchestrator}, reply: {text: Started.}}
- {match: {lastMessage: Delegate}, reply: {toolCalls: [{name: delegate_to_agent, arguments: {role: tester, task: Hang}}]}}
- {match: {lastMessage: Hang}, reply: {fault: {kind: hang}}}
`

// newHangingTree starts a chat with two agents below it, at depths 1 and 2; the deepest waits for its model.
func newHangingTree(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, hangingTreeScript)
	w.chat(nil)
	w.sendMessage("m1", "Go")
	w.untilPosted("Started.")
	w.until("the deepest agent to call its model", func() bool {
		calls, err := w.ledger.OpenCalls(t.Context(), "uid-chat-1-1")
		return err == nil && len(calls.Models) == 1
	})
	return w
}

func (w *world) untilCancelled(uids ...string) {
	w.t.Helper()
	for _, uid := range uids {
		w.until(uid+" to be cancelled", func() bool { return w.record(uid).Status == ledger.StatusCancelled })
		w.until("the calls of "+uid+" to end", func() bool {
			calls, err := w.ledger.OpenCalls(w.t.Context(), uid)
			return err == nil && len(calls.Models)+len(calls.Tools) == 0
		})
	}
}

// Only the chat was deleted: the garbage collector has not run yet, or never will.
func TestEndCancelsTheTreeBelow(t *testing.T) {
	w := newHangingTree(t)
	if err := w.engine.End(t.Context(), "uid-chat"); err != nil {
		t.Fatal(err)
	}
	w.untilCancelled("uid-chat", "uid-chat-1", "uid-chat-1-1")
}

func TestEndIfDeleted(t *testing.T) {
	w := newHangingTree(t)
	if ended, err := w.engine.EndIfDeleted(t.Context(), "uid-chat-1"); err != nil || ended {
		t.Fatalf("ended: %t (%v), and its object exists", ended, err)
	}
	w.deleted.Store("uid-chat-1", true)
	if ended, err := w.engine.EndIfDeleted(t.Context(), "uid-chat-1"); err != nil || !ended {
		t.Fatalf("ended: %t (%v), and an object above it is deleted", ended, err)
	}
	w.untilCancelled("uid-chat-1", "uid-chat-1-1")
	w.until("the agent to fail as cancelled", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat-1")
		return err == nil && s.Phase == agent.PhaseFailed && s.Outcome.Kind == agent.ErrorCancelled
	})
}

// An agent that is cancelled with the tree above it waits for its children, including one that never began, and does
// not act on its end.
func TestEndIfDeletedReportsChild(t *testing.T) {
	w := newWorld(t, hangingTreeScript)
	w.stuck = "chat-1-1"
	w.chat(nil)
	w.sendMessage("m1", "Go")
	w.until("the agent to wait for its child", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat-1")
		return err == nil && len(s.Children.Live) == 1
	})
	before := w.modelCalls("uid-chat-1")
	w.deleted.Store("uid-chat-1", true)
	failed := agent.ChildFinished{Child: "chat-1-1", Outcome: agent.Outcome{Kind: agent.ErrorCancelled}}
	if ended, err := w.engine.EndIfDeleted(t.Context(), "uid-chat-1", failed); err != nil || !ended {
		t.Fatalf("ended: %t (%v)", ended, err)
	}
	w.untilCancelled("uid-chat-1")
	if after := w.modelCalls("uid-chat-1"); after != before {
		t.Errorf("the cancelled agent made %d more model calls", after-before)
	}
}

func TestEndLeavesSiblings(t *testing.T) {
	w := newHangingTree(t)
	if err := w.engine.End(t.Context(), "uid-chat-1"); err != nil {
		t.Fatal(err)
	}
	w.untilCancelled("uid-chat-1", "uid-chat-1-1")
	if !w.record("uid-chat").Live() {
		t.Error("the chat was ended with its agent")
	}
}

// A child that starts after its parent has ended makes no model call.
func TestOrphanDoesNotStart(t *testing.T) {
	w := newHangingTree(t)
	if err := w.engine.End(t.Context(), "uid-chat"); err != nil {
		t.Fatal(err)
	}
	w.untilCancelled("uid-chat", "uid-chat-1", "uid-chat-1-1")
	late := ledger.Agent{UID: "uid-late", Kind: "SubAgent", Namespace: "ns", Name: "late", Parent: "uid-chat", Root: "uid-chat", Chat: "chat", Role: "tester", Depth: 1}
	c := config(agent.SubAgent, "late", "tester", 1)
	c.Task.Instruction = "Hang"
	w.begin(late, c)
	w.until("the late agent to be recorded", func() bool { _, err := w.ledger.Agent(t.Context(), "uid-late"); return err == nil })
	w.untilCancelled("uid-late")
	calls, err := w.ledger.ModelCalls(t.Context(), ledger.CallFilter{Agent: "uid-late"}, ledger.Page{})
	if err != nil || len(calls.Items) > 0 {
		t.Errorf("it made %d model calls (%v)", len(calls.Items), err)
	}
}

// The process dies after the end of a chat is recorded and before that of its agents is.
func TestRecoverCancelsOrphans(t *testing.T) {
	w := newHangingTree(t)
	w.crash()
	chat := w.record("uid-chat")
	data, err := json.Marshal(agent.Event{At: agent.Time(time.Now().UnixMilli()), Fact: deletionFact})
	if err != nil {
		t.Fatal(err)
	}
	err = w.ledger.Append(t.Context(), ledger.Batch{Agent: chat.UID, After: chat.LastSeq,
		Events: []ledger.Event{{Type: agent.FactType(deletionFact), At: time.Now(), Data: data}},
		Finish: &ledger.Finish{Status: ledger.StatusCancelled, ErrorKind: string(agent.ErrorCancelled), At: time.Now()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.start(w.ledger).Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.untilCancelled("uid-chat-1", "uid-chat-1-1")
}

// An agent whose object may be deleted does nothing until that was checked.
func TestAgentNotTakenOverDoesNothing(t *testing.T) {
	w := newHangingTree(t)
	w.crash()
	before := w.record("uid-chat-1-1").LastSeq
	e := w.start(w.ledger)
	e.options.ShouldTakeOver = func(_ context.Context, a ledger.Agent) bool { return a.UID != "uid-chat-1-1" }
	if _, err := e.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := w.record("uid-chat-1-1").LastSeq; now != before {
		t.Fatalf("it advanced from event %d to %d", before, now)
	}
	if err := e.TakeOver(t.Context(), "uid-chat-1-1"); err != nil {
		t.Fatal(err)
	}
	w.until("it to continue", func() bool { return w.record("uid-chat-1-1").LastSeq > before })
}

// An idle orchestrator has nothing to cancel; deleting its chat must end it anyway.
func TestDeletedIdleChatEnds(t *testing.T) {
	w := newWorld(t, "load")
	w.chat(nil)
	w.sendMessage("m1", "Load")
	w.untilPosted("Loaded.")
	w.until("the chat to be idle", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && s.Phase == agent.PhaseIdle && len(s.Outbox) == 0
	})
	if err := w.engine.End(t.Context(), "uid-chat"); err != nil {
		t.Fatal(err)
	}
	w.until("the agent to end", func() bool { return w.record("uid-chat").Status == ledger.StatusCancelled })
}

func (w *world) record(uid string) ledger.Agent {
	w.t.Helper()
	record, err := w.ledger.Agent(w.t.Context(), uid)
	if err != nil {
		w.t.Fatal(err)
	}
	return record
}
