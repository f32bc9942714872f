// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
)

// A decision must name the ask if policies ask again about the call of a task of type Tool.
func TestRunShowsTheAskThatPoliciesRepeat(t *testing.T) {
	config := agent.Config{Kind: agent.ToolRun, Name: "run", Tools: []agent.Tool{{Name: "bash"}}, ToolCall: &agent.ToolRunCall{Tool: "bash"}}
	rule := agent.Verdict{Policy: "team/p", UID: "1", Rule: "r", Action: agent.PolicyRequireApproval}
	s := agent.Replay(agent.State{}, []agent.Event{
		{At: 1, Fact: agent.Started{Config: config}},
		{At: 2, Fact: agent.Judged{Policed: true}},
	})
	if w := waiting(s); w == nil || w.ToolCall != "" {
		t.Errorf("it waits for %+v, want the only call of the task", w)
	}
	s = agent.Replay(s, []agent.Event{
		{At: 3, Fact: agent.Decided{Call: "run", Approve: true}},
		{At: 4, Fact: agent.Judged{Policed: true, Calls: []agent.JudgedCall{{Call: "run", Verdicts: []agent.Verdict{rule}}}}},
	})
	asks := agent.PendingAsks(s)
	if w := waiting(s); w == nil || len(asks) != 1 || w.ToolCall != asks[0].Call {
		t.Errorf("it waits for %+v, want the new ask %+v", w, asks)
	}
}
