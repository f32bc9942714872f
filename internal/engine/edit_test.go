// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

// An operator is killed after it has recorded an approval with edited arguments, while policies keep the call from starting. The next one
// runs the call once, with the bytes that the person wrote, after policies have judged these.
func TestEditSurvivesKill(t *testing.T) {
	const edited = `{ "path": "b", "n": 1.50 }`
	w, policies := newPolicedWorld(t, writesOnce, nil)
	held := func(PolicyInput) ([]agent.Verdict, error) { return nil, context.DeadlineExceeded }
	policies.set(verdict("write", agent.PolicyRequireApproval, "a"))
	got := make(chan string, 8)
	w.tools.beforeWrite = func(_ context.Context, call tool.Invocation) { got <- string(call.Arguments) }
	w.task("task", func(c *agent.Config) { c.Role.EditableApprovals = true })
	call := w.untilWaitsForApproval()
	shown := agent.PendingAsks(w.view("uid-task"))[0]
	policies.set(held)
	w.deliver("uid-task", agent.Decided{
		Call: call, Approve: true, User: "alice", Digest: shown.Digest(), Arguments: edited, EditedDigest: agent.CallDigest("write", edited),
	})
	w.until("the decision to be recorded", func() bool { return len(w.view("uid-task").Batch) == 1 && len(w.view("uid-task").Batch[0].Edits) == 1 })
	w.crash()
	var judged []string
	policies.set(func(in PolicyInput) ([]agent.Verdict, error) {
		if in.Call.Tool == "write" {
			judged = append(judged, string(in.Call.Arguments))
		}
		return nil, nil
	})
	e := w.start(w.ledger)
	e.options.Policies = policies
	if _, err := e.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.untilEnded("task")
	if len(got) != 1 || <-got != edited {
		t.Errorf("the tool ran %d more times or with other bytes than %s", len(got), edited)
	}
	if len(judged) != 1 || judged[0] != edited {
		t.Errorf("policies judged %q, want the edited arguments", judged)
	}
	calls := w.toolCalls("uid-task", "write")
	if len(calls) != 1 || calls[0].Decision != ledger.DecisionApproveEdited || calls[0].DecidedBy != "alice" || calls[0].Arguments != edited {
		t.Errorf("the ledger has %+v", calls)
	}
	checkReplay(t, w, "uid-task")
}
