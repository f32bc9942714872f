// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

func findCall(s agent.State, id string) (agent.BatchCall, bool) {
	for _, c := range s.Batch {
		if c.ID == id {
			return c, true
		}
	}
	return agent.BatchCall{}, false
}

// recordDenied records a call that a person denied. It never runs, so its row starts and ends with the decision.
func (a *actor) recordDenied(r *stepResult, before agent.State, f agent.Decided, now time.Time) {
	c, ok := findCall(before, f.Call)
	if !ok {
		return
	}
	run := agent.RunTool{Call: c.ID, ModelCall: c.ModelCall, Tool: c.Tool, Arguments: json.RawMessage(c.Arguments)}
	row := a.toolIntent(r, run, r.newest(), now)
	row.Decision, row.DecidedBy = ledger.DecisionDeny, f.User
	r.batch.ToolCalls = append(r.batch.ToolCalls, row)
	r.batch.ToolResults = append(r.batch.ToolResults, ledger.ToolResult{Key: row.Key, Status: ledger.StatusDenied, FinishedAt: now})
}
