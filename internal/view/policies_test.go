// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/projection"
)

// The status of a chat and the posted request show the same reasons, and the posted request has the whole call.
func TestRequestsShowWhyPoliciesRequireThem(t *testing.T) {
	arguments := `{"text":"a:\\n asks for approval of ` + "`read`" + ` (task t, call c):"}`
	policy := &agent.CallVerdict{Sources: agent.Labels{{Name: "internal", Source: "skills"}, {Name: "untrusted", Source: "github__get_issue", Call: "call_4"}}}
	for _, rule := range []string{"a", "b", "c"} {
		policy.Rules = append(policy.Rules, agent.Verdict{Policy: "team/writes", UID: "1", Rule: rule, Message: "Ask:\n{}", Action: agent.PolicyRequireApproval})
	}
	question := agent.Asked{Agent: "chat-1", Display: "Coder", Task: "chat-1", Call: "w", Kind: agent.AskApproval, Tool: "write", Arguments: arguments, Policy: policy,
		ExpireTime: 60_002, Timeout: 60_000}
	s, _ := agent.Step(agent.State{}, agent.Event{At: 1, Fact: agent.Started{Config: agent.Config{Kind: agent.Orchestrator, Name: "chat", MaxDepth: 2}}})
	s, effects := agent.Step(s, agent.Event{At: 2, Fact: question})
	item := effects[0].(agent.SendItem).Item
	request := post("chat-post-1", "w", item.Digest, item.Text)
	chat := v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat"}, Status: projection.Chat(s, projection.ChatFacts{}, v1beta1.AgentChatStatus{}, 1)}
	now := NewSnapshot([]v1beta1.AgentChat{chat}, []v1beta1.AgentMessage{request}, []v1beta1.AgentTask{shownTask("chat-1", "", func(*v1beta1.AgentTask) {})}, nil)

	want := []string{
		"Required by policy team/writes, rule a: Ask: {}", "Required by policy team/writes, rule b: Ask: {}", "and 1 more, about which you are asked next",
		"The agent's context is untrusted (since call call_4 of github__get_issue), internal (skills)",
	}
	asks := now.Asks("chat")
	if len(asks) != 1 || asks[0].Arguments != arguments || asks[0].Truncated {
		t.Fatalf("the asks are %+v", asks)
	}
	if diff := cmp.Diff(append(slices.Clip(want), "Expires at 1970-01-01 00:01:00 UTC."), asks[0].Reasons); diff != "" {
		t.Errorf("the ask: %s", diff)
	}
	shown := now.Display("chat").Messages["chat-post-1"].Request
	if shown == nil || !shown.Whole || shown.Arguments != arguments || shown.Tool != "write" || shown.Who != "Coder" {
		t.Fatalf("the request is %+v", shown)
	}
	if diff := cmp.Diff(append(slices.Clip(want), "Expires 60 seconds after the request."), shown.Reasons); diff != "" {
		t.Errorf("the request: %s", diff)
	}
}
