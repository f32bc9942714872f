// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestAskSaysWhyAPolicyRequiresIt(t *testing.T) {
	ask := NewAsk("chat", "chat-1", v1beta1.Waiting{
		Kind: v1beta1.WaitingApproval, Tool: "write",
		PolicyRules:   []v1beta1.WaitingRule{{Policy: "team/writes", Rule: "people", Message: "Ask first."}, {Policy: "team/writes", Rule: "plain"}},
		ContentLabels: []v1beta1.ReceivedLabel{{Name: "untrusted", Source: "github__get_issue", ToolCall: "call_4"}, {Name: "internal", Source: "skills"}},
	})
	want := []string{
		"required by policy team/writes, rule people: Ask first.", "required by policy team/writes, rule plain",
		"the agent's context is untrusted (since call call_4 of github__get_issue)", "the agent's context is internal (skills)",
	}
	if got := ask.PolicyLines(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
