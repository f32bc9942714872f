// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/pattern"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// allowanceScript is an agent that writes two files below docs, one after the other.
const allowanceScript = `
name: writing
rules:
- {match: {role: orchestrator, lastMessage: /^Go$/}, reply: {toolCalls: [{name: delegate_to_agent, arguments: {role: coder, task: Write}}]}}
- {match: {role: orchestrator, lastMessage: /Written/}, reply: {text: All done.}}
- {match: {role: orchestrator}, reply: {text: Started.}}
- {match: {role: coder, turn: 1}, reply: {toolCalls: [{name: write, arguments: {path: docs/a, content: a}}]}}
- {match: {role: coder, turn: 2}, reply: {toolCalls: [{name: write, arguments: {path: docs/b, content: b}}]}}
- {match: {role: coder}, reply: {toolCalls: [{name: submit_result, arguments: {result: Written.}}]}}
`

// allowOnce allows the tool of the call that waits for a person, as the controller does.
func (w *world) allowOnce() {
	w.t.Helper()
	w.untilPosted("docs/a")
	ask := w.openAsk()
	w.deliver("uid-chat", agent.Allowed{
		Message: "m2", Tool: ask.Tool, Arguments: []pattern.Argument{{Name: "path", Pattern: "docs/*"}}, User: "alice", UID: ask.UID, Call: ask.Call, Comment: "Keep it short.",
	})
}

// An allowance decides every call once, although the process dies between any two steps.
func TestAllowancesSurviveACrash(t *testing.T) {
	recorded := func(uid string, nth int32, fact agent.Fact) func(Change) bool {
		var seen atomic.Int32
		return func(c Change) bool {
			return c.Agent.UID == uid && slices.ContainsFunc(c.Events, func(e agent.Event) bool { return agent.FactType(e.Fact) == agent.FactType(fact) }) &&
				seen.Add(1) == nth
		}
	}
	for name, step := range map[string]func(Change) bool{
		"allowed":           recorded("uid-chat", 1, agent.Allowed{}),
		"the first decided": recorded("uid-chat-1", 1, agent.Decided{}),
		"the second asks": func(c Change) bool {
			return c.Agent.UID == "uid-chat-1" && len(agent.PendingAsks(c.After)) > 0 && strings.Contains(agent.PendingAsks(c.After)[0].Arguments, "docs/b")
		},
		"the second is heard": recorded("uid-chat", 2, agent.Asked{}),
		"the second decided":  recorded("uid-chat-1", 2, agent.Decided{}),
		"the second confirmed": func(c Change) bool {
			return c.Agent.UID == "uid-chat" && len(c.Before.Outbox) > 0 && c.Before.Outbox[0].Kind == agent.ItemDecision && c.After.HasHandled("m2")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, allowanceScript)
			dead := w.crashAfter(step)
			w.chat(nil)
			w.sendMessage("m1", "Go")
			w.allowOnce()
			<-dead
			w.restart()
			w.untilPosted("All done.")
			w.until("the outbox to be empty", func() bool {
				s, err := w.engine.View(t.Context(), "uid-chat")
				return err == nil && len(s.Outbox) == 0 && !slices.ContainsFunc(s.Asks, func(a agent.Ask) bool { return a.Open })
			})
			// The step that records a decision also records that the tool starts. After a crash, such a call has an unknown outcome.
			runs, doubled := w.tools.count("write")
			if runs < 2 && !strings.HasSuffix(name, "decided") && !strings.HasSuffix(name, "confirmed") || runs < 1 || runs > 2 || len(doubled) > 0 {
				t.Errorf("the tool ran %d times, twice for %v", runs, doubled)
			}
			if calls := w.toolCalls("uid-chat-1", "write"); len(calls) != 2 {
				t.Errorf("the ledger has the calls %+v", calls)
			}
			for _, call := range w.toolCalls("uid-chat-1", "write") {
				if call.Decision != ledger.DecisionApprove || call.DecidedBy != "alice" {
					t.Errorf("the ledger has %+v", call)
				}
			}
			if posts := strings.Join(w.posts, "\n"); strings.Contains(posts, "docs/b") {
				t.Errorf("a person was asked about an allowed call: %s", posts)
			}
		})
	}
}

// The comment is for the call that was shown. The record names the allowance.
func TestAllowedCallsNameTheirAllowance(t *testing.T) {
	w := newWorld(t, allowanceScript)
	w.chat(nil)
	w.sendMessage("m1", "Go")
	w.allowOnce()
	w.untilPosted("All done.")
	var decisions []agent.Decided
	events, err := w.ledger.Events(t.Context(), "uid-chat-1", 0, ledger.MaxLimit)
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range events {
		_, e, err := agent.DecodeAndApply(agent.State{}, record.Data)
		if d, ok := e.Fact.(agent.Decided); err == nil && ok {
			decisions = append(decisions, d)
		}
	}
	if len(decisions) != 2 || decisions[0].Comment != "Keep it short." || decisions[0].Message != "m2" || decisions[1].Comment != "" || decisions[1].Message != "" ||
		decisions[1].Allowance != "m2" || decisions[1].User != "alice" {
		t.Errorf("the decisions are %+v", decisions)
	}
}

func TestAllowancesDoNotReachOtherChats(t *testing.T) {
	w := newWorld(t, allowanceScript)
	w.chat(nil)
	c := config(agent.Orchestrator, "other", "orchestrator", 0)
	w.begin(ledger.Agent{UID: "uid-other", Kind: "AgentChat", Namespace: "ns", Name: "other", Root: "uid-other", Chat: "other", Role: "orchestrator"}, c)
	w.deliver("uid-other", agent.Allowed{Message: "m0", Tool: "write", User: "alice"})
	w.sendMessage("m1", "Go")
	w.untilPosted("docs/a")
	if !w.openAsk().Open {
		t.Error("an allowance of another chat approved the call")
	}
	if runs, _ := w.tools.count("write"); runs > 0 {
		t.Error("the call ran")
	}
	w.deliver("uid-chat", agent.Cancelled{Message: "stop"})
}
