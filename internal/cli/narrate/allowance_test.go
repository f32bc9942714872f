// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package narrate

import (
	"bytes"
	"strings"
	"testing"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
)

func TestAllowancesAreDescribed(t *testing.T) {
	var out bytes.Buffer
	printer := NewTranscriptPrinter(terminal.Writer(&out, nil))
	printer.Print(historyv1.Entry{Seq: 1, Kind: historyv1.EntryDecision, User: "alice", Decision: "Approve", Allowance: "chat-x7k2p"})
	printer.Print(historyv1.Entry{Seq: 2, Kind: historyv1.EntryAllowance, User: "bob", Content: "Revoked the allowance chat-x7k2p."})
	for _, want := range []string{"allowed by alice for this chat", "bob", "Revoked the allowance chat-x7k2p."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the transcript does not have %q:\n%s", want, out.String())
		}
	}
	allowed := v1beta1.AgentMessage{Spec: v1beta1.AgentMessageSpec{Approval: &v1beta1.Approval{Task: "chat-1", Decision: v1beta1.DecisionApprove, Allow: &v1beta1.Allow{}}}}
	revoked := v1beta1.AgentMessage{Spec: v1beta1.AgentMessageSpec{Revoke: &v1beta1.Revoke{Allowance: "chat-x7k2p"}}}
	for want, m := range map[string]v1beta1.AgentMessage{
		"approved a call of chat-1 and allowed its tool for this chat": allowed,
		"revoked the allowance chat-x7k2p":                             revoked,
	} {
		if got := DescribeAction(m); got != want {
			t.Errorf("described as %q, want %q", got, want)
		}
	}
}
