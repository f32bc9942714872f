// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

// damagedLedger is a ledger with damaged records, by agent and sequence number; an empty text removes a record.
type damagedLedger struct {
	ledger.Ledger
	events    map[string]map[int64]string
	snapshots map[string]string
}

func (p damagedLedger) Load(ctx context.Context, uid string) (ledger.History, error) {
	h, err := p.Ledger.Load(ctx, uid)
	if err == nil && h.Snapshot != nil && p.snapshots[uid] != "" {
		h.Snapshot.Data = json.RawMessage(p.snapshots[uid])
	}
	h.Events = p.damage(uid, h.Events)
	return h, err
}

func (p damagedLedger) Events(ctx context.Context, uid string, after int64, limit int) ([]ledger.Event, error) {
	events, err := p.Ledger.Events(ctx, uid, after, limit)
	return p.damage(uid, events), err
}

func (p damagedLedger) damage(uid string, events []ledger.Event) []ledger.Event {
	var left []ledger.Event
	for _, e := range events {
		data, ok := p.events[uid][e.Seq]
		if ok && data == "" {
			continue
		}
		if ok {
			e.Data = json.RawMessage(data)
		}
		left = append(left, e)
	}
	return left
}

// newTwoTaskWorld starts two tasks with a tool that does not return when the engine is killed.
func newTwoTaskWorld(t *testing.T) *world {
	w := newWorld(t, writerScript)
	running := make(chan struct{}, 2)
	w.tools.beforeWrite = func(ctx context.Context, _ tool.Invocation) {
		running <- struct{}{}
		<-ctx.Done()
	}
	w.task("bad", nil)
	w.task("good", nil)
	<-running
	<-running
	w.crash()
	w.tools.mu.Lock()
	w.tools.beforeWrite = nil
	w.tools.mu.Unlock()
	return w
}

func TestDamagedEventQuarantinesOneAgent(t *testing.T) {
	for name, damage := range map[string]map[int64]string{
		"the first event is not JSON":    {1: "nonsense"},
		"an event is empty":              {2: "{}"},
		"an event has an unknown type":   {2: `{"v":1,"type":"Nonsense","at":1}`},
		"an event is of a later version": {2: `{"v":99,"type":"Woke","at":1}`},
		"an event is gone":               {1: ""},
		"the newest event is gone":       {2: ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTwoTaskWorld(t)
			ledger := damagedLedger{Ledger: w.ledger, events: map[string]map[int64]string{"uid-bad": damage}}
			if n, err := w.start(ledger).Recover(t.Context()); err != nil || n != 2 {
				t.Fatalf("recovered %d agents (%v), want 2", n, err)
			}
			if s := w.untilEnded("good"); !s.Outcome.Succeeded() {
				t.Errorf("the other agent ended with %v", s.Outcome)
			}
			checkQuarantined(t, w, "bad", "vent 1 ", "vent 2 ")
			w.crash()
			n, err := w.start(ledger).Recover(t.Context())
			if err != nil || n != 0 {
				t.Errorf("after another restart, %d agents are taken over (%v)", n, err)
			}
			checkQuarantined(t, w, "bad", "vent 1 ", "vent 2 ")
		})
	}
}

// checkQuarantined checks that an agent has ended with a message that names one of the events, that this is recorded, and that no
// call is open.
func checkQuarantined(t *testing.T, w *world, name string, events ...string) {
	t.Helper()
	s := w.untilEnded(name)
	if s.Outcome.Kind != agent.ErrorHistoryLost {
		t.Fatalf("agent %s ended with %v", name, s.Outcome)
	}
	named := false
	for _, event := range events {
		named = named || strings.Contains(s.Outcome.Error, event)
	}
	if !named {
		t.Errorf("the message %q does not name the event", s.Outcome.Error)
	}
	w.until("the quarantine to be recorded", func() bool {
		record, err := w.ledger.Agent(t.Context(), "uid-"+name)
		return err == nil && !record.Live() && record.ErrorKind == string(agent.ErrorHistoryLost)
	})
	open, err := w.ledger.OpenCalls(t.Context(), "uid-"+name)
	if err != nil || len(open.Models)+len(open.Tools) > 0 {
		t.Errorf("open calls: %v (%v)", open, err)
	}
}

func TestDamagedSnapshotFallsBackToEvents(t *testing.T) {
	for name, snapshot := range map[string]string{
		"not JSON": "nonsense", "empty": `{}`, "an empty state": `{"v":1,"state":{}}`,
		"a state that the core panics on": `{"v":1,"state":{"config":{"kind":"SubAgent","name":"bad"},"phase":"Cancelling","history":{}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, writerScript)
			running := make(chan struct{}, 1)
			w.tools.beforeWrite = func(ctx context.Context, _ tool.Invocation) {
				running <- struct{}{}
				<-ctx.Done()
			}
			w.engine.options.SnapshotEvery = 1
			w.task("bad", nil)
			<-running
			w.crash()
			e := w.start(damagedLedger{Ledger: w.ledger, snapshots: map[string]string{"uid-bad": snapshot}})
			if _, err := e.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := w.untilEnded("bad"); !got.Outcome.Succeeded() || got.Outcome.Result.Text != "The outcome is unknown." {
				t.Errorf("the agent ended with %v", got.Outcome)
			}
		})
	}
}

// faultyModels panics when the model of one agent is resolved.
type faultyModels struct {
	Models
	name string
}

func (m faultyModels) Route(ctx context.Context, a ledger.Agent) (string, error) {
	if a.Name == m.name {
		panic("no model for " + a.Name)
	}
	return m.Models.Route(ctx, a)
}

func TestPanicQuarantinesOneAgentOnce(t *testing.T) {
	for name, prepare := range map[string]func(*world){
		"while a prompt is built": func(w *world) {
			w.models = func(m Models) Models { return faultyModels{Models: m, name: "bad"} }
		},
		"while a reply is handled": func(w *world) {
			w.onCall = func(c CompletedCall) {
				if c.Agent.Name == "bad" && c.Reply != nil {
					panic("on the reply of " + c.Agent.Name)
				}
			}
		},
		"while the result of a tool is handled": func(w *world) {
			w.onCall = func(c CompletedCall) {
				if c.Agent.Name == "bad" && c.Tool != "" {
					panic(fmt.Sprintf("on %s", c.Tool))
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, writerScript)
			w.crash()
			prepare(w)
			w.start(w.ledger)
			w.task("bad", nil)
			w.task("good", nil)
			if s := w.untilEnded("good"); !s.Outcome.Succeeded() {
				t.Errorf("the other agent ended with %v", s.Outcome)
			}
			checkQuarantined(t, w, "bad", "The operator failed on event")
			before := len(w.errors)
			w.restart()
			checkQuarantined(t, w, "bad", "The operator failed on event")
			if len(w.errors) != before {
				t.Errorf("after a restart it failed again: %v", w.errors[before:])
			}
			if stats := w.current().Stats(); stats.InFlight != 0 {
				t.Errorf("%d effects are in flight", stats.InFlight)
			}
		})
	}
}

const delegation = `
name: delegation
rules:
- match: {role: orchestrator, lastMessage: /Hello/}
  reply: {text: Hello again.}
- match: {role: orchestrator, turn: 1}
  reply: {toolCalls: [{name: delegate_to_agent, arguments: {role: coder, task: Write it.}}]}
- match: {role: orchestrator, lastMessage: /cannot be read/}
  reply: {text: The child was lost.}
- match: {role: orchestrator}
  reply: {text: Started.}
- match: {role: coder, turn: 1}
  reply: {toolCalls: [{name: write, arguments: {path: a.go}}]}
- match: {role: coder}
  reply: {toolCalls: [{name: read, arguments: {path: a.go}}]}
`

// newDelegatedWorld starts a chat whose child runs a tool that does not return when the engine is killed.
func newDelegatedWorld(t *testing.T) *world {
	w := newWorld(t, delegation)
	running := make(chan struct{}, 1)
	w.tools.beforeWrite = func(ctx context.Context, _ tool.Invocation) {
		running <- struct{}{}
		<-ctx.Done()
	}
	w.configure = func(c *agent.Config) { c.Role.Approval = agent.ApproveNever }
	w.chat(nil)
	w.sendMessage("m1", "Write something.")
	<-running
	w.untilPosted("Started.")
	w.crash()
	w.tools.mu.Lock()
	w.tools.beforeWrite = nil
	w.tools.mu.Unlock()
	return w
}

func TestQuarantinedChildNotifiesParent(t *testing.T) {
	w := newDelegatedWorld(t)
	before, err := w.ledger.Usage(t.Context(), ledger.ReportQuery{}, ledger.Page{})
	if err != nil {
		t.Fatal(err)
	}
	e := w.start(damagedLedger{Ledger: w.ledger, events: map[string]map[int64]string{"uid-chat-1": {1: "{}"}}})
	if _, err := e.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.untilPosted("The child was lost.")
	s, err := e.View(t.Context(), "uid-chat")
	if err != nil {
		t.Fatal(err)
	}
	if least := before.Items[0].PromptTokens + before.Items[0].CompletionTokens; s.Budget.Used.Tokens < least {
		t.Errorf("the chat has used %d tokens, but the calls before the restart used %d", s.Budget.Used.Tokens, least)
	}
}

func TestQuarantinedChatStartsNewConversation(t *testing.T) {
	w := newDelegatedWorld(t)
	w.tools.beforeAny = func(ctx context.Context, _ tool.Invocation) { <-ctx.Done() } // the child ends only when it is cancelled
	e := w.start(damagedLedger{Ledger: w.ledger, events: map[string]map[int64]string{"uid-chat": {2: "{}"}}})
	if _, err := e.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := w.untilEnded("chat-1"); s.Outcome.Kind != agent.ErrorCancelled {
		t.Errorf("the child of a quarantined chat ended with %v", s.Outcome)
	}
	s, err := e.View(t.Context(), "uid-chat")
	if err != nil || s.HistoryLoss == nil || !strings.Contains(s.HistoryLoss.Reason, "Event 2 (MessageArrived)") {
		t.Fatalf("the chat is %v (%v)", s, err)
	}
	w.chat(nil)
	w.sendMessage("m2", "Hello!")
	w.untilPosted("Hello again.")
	if s, err = e.View(t.Context(), "uid-chat"); err != nil || s.Budget.Used.Tokens == 0 {
		t.Errorf("the new conversation lost the usage of the old one: %v (%v)", s.Budget.Used, err)
	}
}
