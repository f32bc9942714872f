// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/pattern"
	"github.com/nestor-dev/nestor/internal/history/historytest"
)

func TestEntriesOfAllowances(t *testing.T) {
	chat := historytest.Chat("team-a", "release", "uid")
	expect(t, entriesAfter(t, chat,
		func() agent.Fact { return chat.Orchestrator() },
		constantFact(agent.Allowed{Message: "msg-1", Tool: "write", User: "alice", Arguments: []pattern.Argument{{Name: "path", Pattern: "docs/*"}, {Name: "mode", Pattern: "w"}}}),
		constantFact(agent.Allowed{Message: "msg-2", Tool: "bash", User: "bob"}),
		constantFact(agent.AllowanceRevoked{Message: "msg-3", Allowance: "msg-1", User: "bob"}),
	),
		`1 Started`,
		`2 Allowance "Allowed write for this chat, if path is docs/* and mode is w." message "msg-1" by "alice" allowance "msg-1"`,
		`3 Allowance "Allowed bash for this chat." message "msg-2" by "bob" allowance "msg-2"`,
		`4 Allowance "Revoked the allowance msg-1." message "msg-3" by "bob" allowance "msg-1"`,
	)
	pen := historytest.SubAgent(chat, "release-1", "uid-1")
	expect(t, entriesAfter(t, pen,
		func() agent.Fact { return pen.Researcher(agent.Limits{}) },
		func() agent.Fact { return pen.Replied("", agent.ToolCall{ID: "w1", Tool: "write", Arguments: `{}`}) },
		constantFact(agent.Decided{Call: "w1", Approve: true, User: "alice", Allowance: "msg-1"}),
	)[2:],
		`3 Decision by "alice" decision "Approve" allowance "msg-1" [w1 write  Running]`,
	)
}
