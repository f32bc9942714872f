// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

const askerScript = `name: asker
rules:
- {match: {role: orchestrator, lastMessage: /^Delegate$/}, times: 1, reply: {error: {status: 500, message: Once.}}}
- match: {role: orchestrator, lastMessage: /^Delegate$/}
  reply: {toolCalls: [{name: delegate_to_agent, arguments: {role: general, task: Ponder, context: full, context_files: [a.go, b.go]}}]}
- {match: {role: orchestrator, lastMessage: /^Multiply$/}, reply: {toolCalls: [{name: calculator, arguments: {expression: 6 * 7}}]}}
- {match: {role: orchestrator}, reply: {text: 'Noted.'}}
- {match: {noTools: true, tools: []}, reply: {text: 'So far: nothing.'}}
- {reply: {toolCalls: [{name: think, arguments: {thought: 'Attempt {{.turn}}'}}]}}
`

// The rows of an agent's calls contain the model call that started the agent, its context, and the limit that ended it.
func TestCallsRecordTheirOrigin(t *testing.T) {
	w := newWorld(t, askerScript)
	w.chat(nil)
	w.sendMessage("m1", "Delegate")
	w.until("the agent to reach its limit", func() bool {
		a, err := w.ledger.Agent(t.Context(), "uid-chat-1")
		return err == nil && a.ErrorKind == string(agent.ErrorIterationLimit)
	})
	calls, err := w.ledger.ModelCalls(t.Context(), ledger.CallFilter{Agent: "uid-chat-1"}, ledger.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for i, call := range calls.Items {
		if want := "uid-chat/model/m1/2"; call.Parent != want {
			t.Errorf("call %d has the origin %q, want %q: the second attempt got the reply", i, call.Parent, want)
		}
		if diff := cmp.Diff([]string{"a.go", "b.go"}, call.Files); diff != "" || call.ContextMode != "Full" {
			t.Errorf("call %d has the context mode %q and the files (-want +got):\n%s", i, call.ContextMode, diff)
		}
	}
	last := calls.Items[len(calls.Items)-1]
	if last.RequestType != string(agent.PurposePartialAnswer) || last.Result.Bailout != string(agent.ErrorIterationLimit) {
		t.Errorf("the last call, for %s, has the limit %q", last.RequestType, last.Result.Bailout)
	}
	if first := calls.Items[0]; first.Result.Bailout != "" {
		t.Errorf("the first call has the limit %q", first.Result.Bailout)
	}
	tools, err := w.ledger.ToolCalls(t.Context(), "uid-chat-1", ledger.Page{})
	if err != nil || len(tools.Items) == 0 {
		t.Fatalf("%d tool calls (%v)", len(tools.Items), err)
	}
	for i, call := range tools.Items {
		if want := calls.Items[i].Key; call.ModelCall != want {
			t.Errorf("tool call %d has the origin %q, want %q", i, call.ModelCall, want)
		}
	}
}

func TestToolRunRecordsOrchestratorsCall(t *testing.T) {
	w := newWorld(t, askerScript)
	w.chat(nil)
	w.sendMessage("m1", "Multiply")
	w.untilPosted("Noted.")
	tools, err := w.ledger.ToolCalls(t.Context(), "uid-chat-1", ledger.Page{})
	if err != nil || len(tools.Items) != 1 || tools.Items[0].ModelCall != "uid-chat/model/m1/1" {
		t.Errorf("tool calls %+v (%v), want one with the chat's first model call as its origin", tools.Items, err)
	}
}

func TestLimitReached(t *testing.T) {
	limit := func(kind agent.ErrorKind) agent.State { return agent.State{LimitReached: &agent.Failure{Kind: kind}} }
	failure := func(kind agent.ErrorKind) agent.State { return agent.State{TurnFailure: &agent.Failure{Kind: kind}} }
	old := failure(agent.ErrorBudgetExhausted)
	for name, test := range map[string]struct {
		before, next agent.State
		want         string
	}{
		"none":                         {},
		"a reply reached it":           {next: limit(agent.ErrorLoopDetected), want: "LoopDetected"},
		"the last call":                {before: limit(agent.ErrorIterationLimit), next: limit(agent.ErrorIterationLimit), want: "IterationLimit"},
		"the last call of a turn":      {before: limit(agent.ErrorTimedOut), next: failure(agent.ErrorTimedOut), want: "TimedOut"},
		"a turn without a last call":   {next: failure(agent.ErrorBudgetExhausted), want: "BudgetExhausted"},
		"a reply paused the chat":      {next: agent.State{Paused: &agent.Pause{Reason: agent.PausedLoop}}, want: "PausedLoop"},
		"a turn that the model failed": {next: failure(agent.ErrorModel)},
		"trouble of a turn before":     {before: old, next: old},
	} {
		if got := limitReached(test.before, test.next); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
