// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

const writesOnce = `
name: writes
rules:
- {match: {role: coder}, times: 1, reply: {toolCalls: [{name: write, arguments: {path: a}}]}}
- {match: {role: coder}, reply: {toolCalls: [{name: submit_result, arguments: {result: Done.}}]}}
`

// waitsForApproval starts a task that waits for an approval, for at most the given time.
func waitsForApproval(t *testing.T, timeout time.Duration) *world {
	t.Helper()
	w := newWorld(t, writesOnce)
	w.task("task", func(c *agent.Config) {
		c.Role.Approval, c.Role.ApprovalTimeout = agent.ApproveWrites, agent.Millis(timeout.Milliseconds())
	})
	return w
}

func (w *world) untilWaitsForApproval() string {
	w.t.Helper()
	w.until("the task to wait", func() bool { return w.stage("task") == agent.StageWaitingForApproval })
	return agent.PendingAsks(w.view("uid-task"))[0].Call
}

func (w *world) checkExpired() {
	w.t.Helper()
	calls := w.toolCalls("uid-task", "write")
	if len(calls) != 1 || calls[0].Result == nil || calls[0].Result.Status != ledger.StatusDenied || calls[0].Decision != ledger.DecisionDeny || calls[0].DecidedBy != decidedByTimeout {
		w.t.Errorf("the ledger has %+v", calls)
	}
	if runs, _ := w.tools.count("write"); runs != 0 {
		w.t.Errorf("the tool ran %d times", runs)
	}
}

// The timer of an approval does not keep the agent in memory, and reaches it when it is no longer there.
func TestEvictedApprovalExpires(t *testing.T) {
	w := waitsForApproval(t, 24*time.Hour)
	w.untilWaitsForApproval()
	w.until("the agent to be evicted", func() bool { w.engine.EvictIdle(0); return w.engine.Stats().Agents == 0 })
	expires := agent.PendingAsks(w.view("uid-task"))[0].ExpireTime
	w.until("the agent to be evicted again", func() bool { w.engine.EvictIdle(0); return w.engine.Stats().Agents == 0 })
	w.engine.wake("uid-task", agent.WakeAt{At: expires}) // as its timer does
	w.untilEnded("task")
	w.checkExpired()
}

func TestApprovalExpiresByItself(t *testing.T) {
	w := waitsForApproval(t, 200*time.Millisecond)
	w.untilEnded("task")
	w.checkExpired()
}

// A decision that was made while no operator ran counts, although its time has passed when the next one starts.
func TestDecisionDuringAnOutageCounts(t *testing.T) {
	w := waitsForApproval(t, time.Hour)
	call := w.untilWaitsForApproval()
	w.clockOffset.Store(int64(2 * time.Hour))
	w.restart()
	w.deliver("uid-task", agent.Decided{Call: call, Approve: true})
	w.untilEnded("task")
	if calls := w.toolCalls("uid-task", "write"); len(calls) != 1 {
		t.Errorf("the approved call was made %d times", len(calls))
	}
}
