// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package narrate

import (
	"bytes"
	"strings"
	"testing"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1alpha1"
	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
)

func TestAllowancesAreDescribed(t *testing.T) {
	var out bytes.Buffer
	printer := NewTranscriptPrinter(terminal.Writer(&out, nil))
	printer.Print(historyv1.Entry{Seq: 1, Kind: historyv1.EntryDecision, By: "alice", Decision: "Approve", Allowance: "chat-x7k2p"})
	printer.Print(historyv1.Entry{Seq: 2, Kind: historyv1.EntryAllowance, By: "bob", Content: "Revoked the allowance chat-x7k2p."})
	for _, want := range []string{"allowed by alice for this chat", "bob", "Revoked the allowance chat-x7k2p."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the transcript does not have %q:\n%s", want, out.String())
		}
	}
	allowed := v1alpha1.AgentMessage{Spec: v1alpha1.AgentMessageSpec{Approval: &v1alpha1.Approval{Task: "chat-1", Decision: v1alpha1.DecisionApprove, Allow: &v1alpha1.Allow{}}}}
	revoked := v1alpha1.AgentMessage{Spec: v1alpha1.AgentMessageSpec{Revoke: &v1alpha1.Revoke{Allowance: "chat-x7k2p"}}}
	for want, m := range map[string]v1alpha1.AgentMessage{
		"approved a call of chat-1 and allowed its tool for this chat": allowed,
		"revoked the allowance chat-x7k2p":                             revoked,
	} {
		if got := DescribeAction(m); got != want {
			t.Errorf("described as %q, want %q", got, want)
		}
	}
}
