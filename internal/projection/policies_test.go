// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/shorten"
)

var writeAfterReading = []agent.Fact{
	agent.Judged{Policed: true},
	agent.ModelReplied{Call: "m1", Calls: []agent.ToolCall{{ID: "c1", Tool: "read", Arguments: "{}"}}},
	agent.Judged{Policed: true, Calls: []agent.JudgedCall{{Call: "c1"}}},
	agent.ToolFinished{Call: "c1", Outcome: agent.ToolSucceeded, Text: "a file", Content: agent.Content{Labels: []string{"a", "b", "c", "d"}}},
	agent.ModelReplied{Call: "m2", Calls: []agent.ToolCall{{ID: "c2", Tool: "bash", Arguments: `{"command":"make"}`}}},
}

func required(rules int) agent.Judged {
	judged := agent.JudgedCall{Call: "c2", Labels: []string{agent.LabelUntrusted}}
	for i := range rules {
		judged.Verdicts = append(judged.Verdicts, agent.Verdict{Policy: "team/writes", UID: "1", Rule: fmt.Sprint("people-", i),
			Message: strings.Repeat("Ask. ", 100), Action: agent.PolicyRequireApproval, DenyRequesters: true})
	}
	return agent.Judged{Policed: true, Calls: []agent.JudgedCall{judged}}
}

func TestApprovalShowsRulesAndLabels(t *testing.T) {
	sub, task := shown(Work{}, play(subAgent(), append(writeAfterReading, required(3))...))
	if sub.Status.Phase != v1beta1.SubAgentWaitingForApproval || task.Status.Waiting == nil {
		t.Fatalf("it is %s", sub.Status.Phase)
	}
	w := task.Status.Waiting
	first := v1beta1.WaitingRule{Policy: "team/writes", Rule: "people-0", Message: shorten.Head(strings.Repeat("Ask. ", 100), maxRuleMessage)}
	second := first
	second.Rule = "people-1"
	want := v1beta1.PolicyReasons{
		PolicyRules: []v1beta1.WaitingRule{first, second}, PolicyRulesOmitted: 1, ContentLabelsOmitted: 2,
		ContentLabels: []v1beta1.ReceivedLabel{{Name: "untrusted", Source: "read", ToolCall: "c1"}, {Name: "a", Source: "read", ToolCall: "c1"}, {Name: "b", Source: "read", ToolCall: "c1"}},
	}
	if diff := cmp.Diff(want, w.PolicyReasons); diff != "" {
		t.Error(diff)
	}
	if call := sub.Status.ToolCalls[len(sub.Status.ToolCalls)-1]; call.ID != "c2" || !cmp.Equal(want, call.PolicyReasons) {
		t.Errorf("the call of the agent is %+v", call)
	}
	if !w.DenyRequesters || w.ToolCall != "c2" {
		t.Errorf("it waits for %+v", w)
	}
}

func TestCallsThatCannotBeJudgedShowWhy(t *testing.T) {
	waits := agent.Judged{Policed: true, Waits: "the ToolPolicy team/writes does not compile"}
	state := play(subAgent(), append(writeAfterReading, waits)...)
	sub, task := shown(Work{}, state)
	for _, c := range append(sub.Status.Conditions, task.Status.Conditions...) {
		if c.Type == v1beta1.ConditionSucceeded && (c.Reason != v1beta1.ReasonPolicyNotReady || !strings.Contains(c.Message, "team/writes does not compile")) {
			t.Errorf("%s: %s", c.Reason, c.Message)
		}
	}
	chat := play(agent.Config{Kind: agent.Orchestrator, Name: "chat"}, agent.Judged{Policed: true}, agent.MessageArrived{Message: "m", Text: "Hello"},
		agent.ModelReplied{Call: "m1", Calls: []agent.ToolCall{{ID: "c1", Tool: "delegate_to_agent", Arguments: `{"role":"tester","task":"test"}`}}}, waits)
	c := ready(chat, ChatFacts{}, nil, 1)
	if c.Status != "False" || c.Reason != v1beta1.ReasonPolicyNotReady {
		t.Errorf("the chat is %s: %s", c.Reason, c.Message)
	}
}
