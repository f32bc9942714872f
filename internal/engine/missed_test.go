// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/test/patience"
)

func has(b ledger.Batch, kind string) bool {
	return slices.ContainsFunc(b.Events, func(e ledger.Event) bool { return e.Type == kind })
}

// The append that ends an agent succeeds, but its answer is lost.
func TestEndAfterLostAnswer(t *testing.T) {
	w := newWorld(t, nestedQuestionScript)
	w.stop()
	var lost atomic.Bool
	w.start(&lossyLedger{Ledger: w.ledger, loses: func(b ledger.Batch) bool {
		return b.Agent == "uid-chat-1-1" && b.Finish != nil && !lost.Swap(true)
	}})
	w.configure = func(c *agent.Config) { c.AutoAnswer.Enabled = false }
	w.chat(nil)
	w.sendMessage("m1", "Go")
	w.answerOnce()
	w.until("the end to be lost", lost.Load)
	w.untilPosted("All done.")
}

// The append of an answer succeeds, but its own answer is lost.
func TestUnconfirmedAnswerClosesTheQuestion(t *testing.T) {
	w := newWorld(t, nestedQuestionScript)
	w.stop()
	var lost atomic.Bool
	w.start(&lossyLedger{Ledger: w.ledger, loses: func(b ledger.Batch) bool {
		return b.Agent == "uid-chat-1-1" && has(b, "Answered") && !lost.Swap(true)
	}})
	w.configure = func(c *agent.Config) { c.AutoAnswer.Enabled = false }
	w.chat(nil)
	w.sendMessage("m1", "Go")
	w.untilPosted("Which year?")
	w.deliver("uid-chat-1-1", agent.Answered{Call: w.openAsk().Call, Text: "1972"})
	w.untilPosted("All done.")
	w.until("the question to be closed", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && !slices.ContainsFunc(s.Asks, func(a agent.Ask) bool { return a.Open })
	})
}

func (w *world) view(uid string) agent.State {
	w.t.Helper()
	s, err := w.engine.View(w.t.Context(), uid)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// unreadableLedger fails to load agents while refuse is set.
type unreadableLedger struct {
	ledger.Ledger
	refuse func(uid string) bool
}

func (l *unreadableLedger) Load(ctx context.Context, uid string) (ledger.History, error) {
	if l.refuse(uid) {
		return ledger.History{}, &ledger.Error{Op: "load", Reason: ledger.ReasonFailed, Err: errors.New("canceling statement due to conflict with recovery")}
	}
	return l.Ledger.Load(ctx, uid)
}

// An agent that cannot be read at first during a take-over is still notified of its ended child.
func TestLateAgentIsNotified(t *testing.T) {
	w := newWorld(t, nestedQuestionScript)
	dead := w.crashAfter(func(c Change) bool { return c.Agent.UID == "uid-chat-1-1" && c.After.Phase.Terminal() })
	w.configure = func(c *agent.Config) { c.AutoAnswer.Enabled = false }
	w.chat(nil)
	w.sendMessage("m1", "Go")
	w.answerOnce()
	<-dead
	w.crash()
	var failed atomic.Bool
	if _, err := w.start(&unreadableLedger{Ledger: w.ledger, refuse: func(uid string) bool { return uid == "uid-chat-1" && !failed.Swap(true) }}).Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, uid := range []string{"uid-chat", "uid-chat-1", "uid-chat-1-1"} {
		go w.reconcile(uid)
	}
	w.untilPosted("All done.")
}

// An agent that cannot be read does not block others.
func TestUnreadableAgentBlocksNoOther(t *testing.T) {
	w := askAtDepth2(t)
	w.untilPosted("Which year?")
	w.crash()
	var fine atomic.Bool
	e := w.start(&unreadableLedger{Ledger: w.ledger, refuse: func(uid string) bool { return uid == "uid-chat-1-1" && !fine.Load() }})
	if _, err := e.Recover(t.Context()); err != nil {
		t.Errorf("no agent is taken over: %v", err)
	}
	fine.Store(true)
}

// A chat that was deleted makes no more model calls.
func TestDeletedChatIgnoresQuestions(t *testing.T) {
	w := newHangingTree(t)
	if err := w.engine.End(t.Context(), "uid-chat"); err != nil {
		t.Fatal(err)
	}
	w.untilCancelled("uid-chat", "uid-chat-1", "uid-chat-1-1")
	before := len(w.model.Requests())
	if err := w.engine.Record(t.Context(), "uid-chat", agent.Asked{Agent: "chat-1-1", UID: "uid-chat-1-1", Task: "chat-1-1", Call: "c9", Kind: agent.AskQuestion, Text: "Which?"}); err != nil {
		t.Fatal(err)
	}
	calls, err := w.ledger.OpenCalls(t.Context(), "uid-chat")
	if err != nil || len(calls.Models) > 0 || len(w.model.Requests()) > before {
		t.Errorf("it calls its model: %d open calls, %d more requests (%v)", len(calls.Models), len(w.model.Requests())-before, err)
	}
}

// The events of an agent whose name was taken are damaged. Its parent uses the name of its task.
func TestQuarantinedSuffixedAgentIsReported(t *testing.T) {
	w := newHangingTree(t)
	defer w.deliver("uid-chat", agent.Cancelled{Message: "stop"})
	w.noControllers.Store(true)
	w.deliver("uid-chat-1-1", agent.Cancelled{}) // the script has no rule for the parent's next call
	c := config(agent.Orchestrator, "chat2", "orchestrator", 0)
	w.begin(ledger.Agent{UID: "uid-chat2", Kind: "AgentChat", Namespace: "ns", Name: "chat2", Root: "uid-chat2", Chat: "chat2", Role: "orchestrator"}, c)
	w.deliver("uid-chat2", agent.MessageArrived{Message: "m1", Text: "Go"})
	w.until("the child to be requested", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat2")
		return err == nil && s.Children.Pending() == 1
	})
	sub := config(agent.SubAgent, "chat2-1-x7k2m", "tester", 1)
	sub.TaskName, sub.Task.Instruction = "chat2-1", "Hang"
	w.begin(ledger.Agent{UID: "uid-sub", Kind: "SubAgent", Namespace: "ns", Name: "chat2-1-x7k2m", Parent: "uid-chat2", Root: "uid-chat2", Chat: "chat2", Role: "tester", Depth: 1}, sub)
	w.until("the child to call its model", func() bool {
		calls, err := w.ledger.OpenCalls(t.Context(), "uid-sub")
		return err == nil && len(calls.Models) == 1
	})
	w.crash()
	e := w.start(damageEvent(w.ledger, "uid-sub", 1))
	if _, err := e.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until("the child to be quarantined", func() bool { return !w.record("uid-sub").Live() })
	w.until("the parent to be notified", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat2")
		return err == nil && s.Children.Pending() == 0
	})
}

// damagedEvent damages one event of an agent.
type damagedEvent struct {
	ledger.Ledger
	uid string
	seq atomic.Int64
}

func damageEvent(l ledger.Ledger, uid string, seq int64) *damagedEvent {
	damaged := &damagedEvent{Ledger: l, uid: uid}
	damaged.seq.Store(seq)
	return damaged
}

func (l *damagedEvent) Load(ctx context.Context, uid string) (ledger.History, error) {
	h, err := l.Ledger.Load(ctx, uid)
	if err == nil && uid == l.uid {
		for i := range h.Events {
			if h.Events[i].Seq == l.seq.Load() {
				h.Events[i].Data = []byte("{")
			}
		}
	}
	return h, err
}

// An agent at depth 2 with an open question is quarantined, because the event of its question cannot be read. The question must
// be closed.
func TestQuarantineClosesQuestions(t *testing.T) {
	w := askAtDepth2(t)
	w.untilPosted("Which year?")
	w.crash()
	e := w.start(damageEvent(w.ledger, "uid-chat-1-1", w.record("uid-chat-1-1").LastSeq))
	e.awaitsRecovery.Store(true)
	if _, err := e.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until("it to be quarantined", func() bool { return !w.record("uid-chat-1-1").Live() })
	w.until("the question to be closed", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && !slices.ContainsFunc(s.Asks, func(a agent.Ask) bool { return a.Open })
	})
}

// The same, but the damage is found while the engine is running.
func TestLateQuarantineClosesQuestions(t *testing.T) {
	w := newWorld(t, nestedQuestionScript)
	w.stop()
	damage := damageEvent(w.ledger, "uid-chat-1-1", 0)
	w.start(damage)
	w.configure = func(c *agent.Config) { c.AutoAnswer.Enabled = false }
	w.chat(nil)
	w.sendMessage("m1", "Go")
	w.untilPosted("Which year?")
	for start := time.Now(); ; {
		asking := w.record("uid-chat-1-1")
		if !asking.Live() {
			break
		}
		if time.Since(start) > patience.Limit() {
			t.Fatal("it was not quarantined")
		}
		damage.seq.Store(asking.LastSeq) // it may still record that its question was sent
		w.engine.EvictIdle(-1e12)
		_, _ = w.engine.View(t.Context(), "uid-chat-1-1")
	}
	w.until("the question to be closed", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && !slices.ContainsFunc(s.Asks, func(a agent.Ask) bool { return a.Open })
	})
}

// The parent recorded that a task failed, but the task's status could not be written; then the task starts after all. It must not
// run.
func TestRejectedAgentDoesNotRun(t *testing.T) {
	w := newHangingTree(t)
	w.noControllers.Store(true)
	late := w.agents["chat-1-1"]
	late.UID, late.Name = "uid-chat-2", "chat-2"
	late.Parent, late.Depth = "uid-chat", 1
	w.deliver("uid-chat", agent.MessageArrived{Message: "m2", Text: "Go"})
	w.until("a second child to be requested", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && s.Children.Pending() == 2
	})
	failed := agent.ChildFinished{Child: "chat-2", Outcome: agent.Outcome{Kind: agent.ErrorInvalidSpec, Error: "exceeded quota"}}
	if err := w.engine.Record(t.Context(), "uid-chat", failed); err != nil {
		t.Fatal(err)
	}
	c := config(agent.SubAgent, "chat-2", "tester", 1)
	c.Task.Instruction = "Hang"
	w.deliverError(w.engine.Start(late, agent.Started{Config: c})) // the next reconcile is within the quota
	w.until("it to be recorded", func() bool { _, err := w.ledger.Agent(t.Context(), "uid-chat-2"); return err == nil })
	defer w.deliver("uid-chat-2", agent.Cancelled{})
	w.untilCancelled("uid-chat-2")
}

// The object that has the name of a child's sub-agent never had an agent, or its history was pruned. The child, whose name has a
// suffix, ends, and the process dies before its parent is notified.
func TestMissedEndOfSuffixedChild(t *testing.T) {
	w := newWorld(t, hangingTreeScript)
	w.chat(nil)
	w.noControllers.Store(true)
	w.sendMessage("m1", "Go")
	w.until("the child to be requested", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && s.Children.Pending() == 1
	})
	dead := w.crashAfter(func(c Change) bool { return c.Agent.UID == "uid-sub" && c.After.Phase.Terminal() })
	sub := config(agent.SubAgent, "chat-1-x7k2m", "tester", 1)
	sub.TaskName, sub.Task.Instruction = "chat-1", "Hang"
	w.begin(ledger.Agent{UID: "uid-sub", Kind: "SubAgent", Namespace: "ns", Name: "chat-1-x7k2m", Parent: "uid-chat", Root: "uid-chat", Chat: "chat", Role: "tester", Depth: 1}, sub)
	w.deliver("uid-sub", agent.Cancelled{User: "alice"})
	<-dead
	w.restart()
	w.until("the parent to be notified", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && s.Children.Pending() == 0
	})
}

// The ask of an agent is resolved, and the agent continues. Its orchestrator was not notified, and cannot be read when the agent
// is taken over.
func TestLateOrchestratorClosesQuestion(t *testing.T) {
	w := newWorld(t, strings.Replace(nestedQuestionScript, "reply: {toolCalls: [{name: submit_result, arguments: {result: It was 1972.}}]}", "reply: {fault: {kind: hang}}", 1))
	w.configure = func(c *agent.Config) { c.AutoAnswer.Enabled = false }
	dead := w.crashAfter(func(c Change) bool {
		return c.Agent.UID == "uid-chat-1-1" && slices.ContainsFunc(c.Events, func(e agent.Event) bool { return agent.FactType(e.Fact) == "Answered" })
	})
	w.chat(nil)
	w.sendMessage("m1", "Go")
	w.untilPosted("Which year?")
	w.deliver("uid-chat-1-1", agent.Answered{Call: w.openAsk().Call, Text: "1972"})
	<-dead
	w.crash()
	before := w.record("uid-chat-1-1").LastSeq
	var fine atomic.Bool
	if _, err := w.start(&unreadableLedger{Ledger: w.ledger, refuse: func(uid string) bool { return uid == "uid-chat" && !fine.Load() }}).Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until("the agent to be taken over", func() bool { return w.record("uid-chat-1-1").LastSeq > before })
	if err := w.engine.Record(t.Context(), "uid-chat-1-1", agent.Woke{}); err != nil { // the take-over is complete then
		t.Fatal(err)
	}
	fine.Store(true)
	w.until("the question to be closed", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && !slices.ContainsFunc(s.Asks, func(a agent.Ask) bool { return a.Open })
	})
	w.deliver("uid-chat", agent.Cancelled{Message: "stop"})
}
