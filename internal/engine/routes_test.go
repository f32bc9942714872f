// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// nestedQuestionScript is an agent at depth 2 that asks the person a question.
const nestedQuestionScript = `
name: asking
rules:
- {match: {role: orchestrator, lastMessage: /^Go$/}, reply: {toolCalls: [{name: delegate_to_agent, arguments: {role: coder, task: Delegate}}]}}
- {match: {role: orchestrator, lastMessage: /Passed on/}, reply: {text: All done.}}
- {match: {role: orchestrator}, reply: {text: Started.}}
- {match: {role: coder, lastMessage: Delegate}, reply: {toolCalls: [{name: delegate_to_agent, arguments: {role: tester, task: Ask}}]}}
- {match: {role: coder}, reply: {toolCalls: [{name: submit_result, arguments: {result: Passed on.}}]}}
- {match: {role: tester, turn: 1}, reply: {toolCalls: [{name: ask_user, arguments: {question: "Which year?"}}]}}
- {match: {role: tester, lastMessage: /1972/}, reply: {toolCalls: [{name: submit_result, arguments: {result: It was 1972.}}]}}
`

// askAtDepth2 starts a chat whose agents ask the person a question.
func askAtDepth2(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, nestedQuestionScript)
	w.configure = func(c *agent.Config) { c.AutoAnswer.Enabled = false }
	w.chat(nil)
	w.sendMessage("m1", "Go")
	return w
}

func (w *world) answerOnce() {
	w.t.Helper()
	w.untilPosted("Which year?")
	w.deliver("uid-chat", agent.MessageArrived{Message: "m2", Text: "It was 1972.", Answers: "chat-1-1"})
}

func TestAgentsNotifyEachOtherWithoutControllers(t *testing.T) {
	w := askAtDepth2(t)
	w.untilPosted("Which year?")
	w.noControllers.Store(true)
	w.deliver("uid-chat", agent.MessageArrived{Message: "m2", Text: "It was 1972.", Answers: "chat-1-1"})
	w.until("the results to reach the orchestrator", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && s.Children.Pending() == 0 && slices.ContainsFunc(s.Outbox, func(i agent.Item) bool { return i.Text == "All done." })
	})
	s, err := w.engine.View(t.Context(), "uid-chat")
	if err != nil || slices.ContainsFunc(s.Outbox, func(i agent.Item) bool { return i.Kind == agent.ItemReply }) {
		t.Errorf("the outbox still has the reply: %+v (%v)", s.Outbox, err)
	}
}

func TestCancelReachesDeepestAgent(t *testing.T) {
	w := newHangingTree(t)
	w.noControllers.Store(true)
	w.deliver("uid-chat", agent.Cancelled{Message: "stop"})
	w.untilCancelled("uid-chat-1", "uid-chat-1-1")
	w.until("the orchestrator to be notified", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && s.Children.Pending() == 0
	})
}

// A cancel must not depend on the controllers' cache: a child may start while its parent is cancelled.
func TestChildOfCancelledParentStops(t *testing.T) {
	w := newHangingTree(t)
	w.noControllers.Store(true)
	w.engine.directory.remove("uid-chat-1-1") // as if its start were in flight
	w.deliver("uid-chat-1", agent.Cancelled{})
	w.until("the parent to cancel", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat-1")
		return err == nil && s.RejectsChild("chat-1-1")
	})
	late := w.agents["chat-1-1"]
	late.UID = "uid-late"
	c := config(agent.SubAgent, "chat-1-1", "tester", 2)
	c.Task.Instruction = "Hang"
	w.deliverError(w.engine.Start(late, agent.Started{Config: c}))
	w.until("the late child to be recorded", func() bool { _, err := w.ledger.Agent(t.Context(), "uid-late"); return err == nil })
	w.untilCancelled("uid-late")
	w.deliver("uid-chat-1-1", agent.Cancelled{})
}

func TestQuestionResolvedElsewhereIsClosed(t *testing.T) {
	w := askAtDepth2(t)
	w.untilPosted("Which year?")
	w.deliver("uid-chat-1-1", agent.Answered{Call: w.openAsk().Call, Text: "1972"})
	w.until("the question to be closed", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && !slices.ContainsFunc(s.Asks, func(a agent.Ask) bool { return a.Open })
	})
	w.untilPosted("All done.")
}

func (w *world) openAsk() agent.Ask {
	w.t.Helper()
	s, err := w.engine.View(w.t.Context(), "uid-chat")
	if err != nil || len(s.Asks) != 1 {
		w.t.Fatalf("the orchestrator has the asks %+v (%v)", s.Asks, err)
	}
	return s.Asks[0]
}

// crashAfter crashes the engine once, after a step is recorded and before its effects start.
func (w *world) crashAfter(step func(Change) bool) <-chan struct{} {
	dead, once := make(chan struct{}), atomic.Bool{}
	hear := func(e *Engine, c Change) {
		if !step(c) || once.Swap(true) {
			return
		}
		e.actors.close()
		e.cancel()
		close(dead)
	}
	w.onRecorded.Store(&hear)
	return dead
}

// A notification between agents is not lost if the process dies between the two steps.
func TestNotificationsSurviveACrash(t *testing.T) {
	after := func(uid string, fact agent.Fact) func(Change) bool {
		return func(c Change) bool {
			return c.Agent.UID == uid && slices.ContainsFunc(c.Events, func(e agent.Event) bool { return agent.FactType(e.Fact) == agent.FactType(fact) })
		}
	}
	ends := func(uid string) func(Change) bool {
		return func(c Change) bool { return c.Agent.UID == uid && c.After.Phase.Terminal() }
	}
	for name, step := range map[string]func(Change) bool{
		"asked": func(c Change) bool { return c.Agent.UID == "uid-chat-1-1" && len(agent.PendingAsks(c.After)) > 0 },
		"heard": after("uid-chat", agent.Asked{}),
		"replied": func(c Change) bool {
			return slices.ContainsFunc(c.After.Outbox, func(i agent.Item) bool { return i.Kind == agent.ItemReply })
		},
		"answered":         after("uid-chat-1-1", agent.Answered{}),
		"ended":            ends("uid-chat-1-1"),
		"ended above that": ends("uid-chat-1"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nestedQuestionScript)
			dead := w.crashAfter(step)
			w.configure = func(c *agent.Config) { c.AutoAnswer.Enabled = false }
			w.chat(nil)
			w.sendMessage("m1", "Go")
			if name == "asked" || name == "heard" {
				<-dead
				w.restart()
				w.answerOnce()
			} else {
				w.answerOnce()
				<-dead
				w.restart()
			}
			w.untilPosted("All done.")
			w.until("nothing to be open", func() bool {
				s, err := w.engine.View(t.Context(), "uid-chat")
				return err == nil && len(s.Outbox) == 0 && !slices.ContainsFunc(s.Asks, func(a agent.Ask) bool { return a.Open })
			})
			for _, line := range []string{"Which year?", "All done."} {
				if n := strings.Count(strings.Join(w.posts, "\n"), line); n != 1 {
					t.Errorf("%q was posted %d times", line, n)
				}
			}
		})
	}
	for name, step := range map[string]func(Change) bool{
		"the chat was cancelled":  after("uid-chat", agent.Cancelled{}),
		"its child was cancelled": after("uid-chat-1", agent.Cancelled{}),
		"the deepest has ended":   ends("uid-chat-1-1"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newHangingTree(t)
			dead := w.crashAfter(step)
			w.noControllers.Store(true)
			w.deliver("uid-chat", agent.Cancelled{Message: "stop"})
			<-dead
			w.restart()
			for _, uid := range []string{"uid-chat-1", "uid-chat-1-1"} {
				w.until(uid+" to be cancelled", func() bool { return w.record(uid).Status == ledger.StatusCancelled })
			}
			w.until("the orchestrator to be notified", func() bool {
				s, err := w.engine.View(t.Context(), "uid-chat")
				return err == nil && s.Children.Pending() == 0
			})
		})
	}
}

// An agent whose object is deleted while it waits for its own children has no outcome, but its parent must not wait forever.
func TestDeletedChildNotifiesParent(t *testing.T) {
	w := newHangingTree(t)
	w.noControllers.Store(true)
	if err := w.engine.End(t.Context(), "uid-chat-1"); err != nil {
		t.Fatal(err)
	}
	w.untilCancelled("uid-chat-1", "uid-chat-1-1")
	w.until("the orchestrator to be notified", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && s.Children.Pending() == 0
	})
}

// The agent of a child has a different name if the child's name was taken.
func TestHasStartedFindsSuffixedChild(t *testing.T) {
	w := newHangingTree(t)
	defer w.deliver("uid-chat", agent.Cancelled{Message: "stop"})
	other := ledger.Agent{UID: "uid-other", Kind: "SubAgent", Namespace: "ns", Name: "chat-2", Root: "uid-other", Role: "tester"}
	mine := ledger.Agent{UID: "uid-mine", Kind: "SubAgent", Namespace: "ns", Name: "chat-2-x7k2m", Parent: "uid-chat", Root: "uid-chat", Chat: "chat", Role: "tester", Depth: 1}
	for _, record := range []ledger.Agent{other, mine} {
		record.CreatedAt = time.Now()
		w.deliverError(w.engine.Start(record, agent.Started{Config: config(agent.SubAgent, record.Name, "tester", 1)}, agent.Cancelled{}))
		w.until("it to be recorded", func() bool { _, err := w.ledger.Agent(t.Context(), record.UID); return err == nil })
	}
	for child, want := range map[string]bool{"chat-1": true, "chat-2": true, "chat-3": false} {
		if started, err := w.engine.HasStarted(t.Context(), "uid-chat", child); err != nil || started != want {
			t.Errorf("HasStarted(%s) = %t (%v), want %t", child, started, err, want)
		}
	}
}
