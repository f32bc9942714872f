// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
)

func findCall(s agent.State, id string) (agent.BatchCall, bool) {
	for _, c := range s.Batch {
		if c.ID == id {
			return c, true
		}
	}
	return agent.BatchCall{}, false
}

// decidedByTimeout is who denied a call about which no one decided in time.
const decidedByTimeout = "approval.timeoutSeconds"

// recordDenied records a call that a person denied. It never runs, so its row starts and ends with the decision.
func (a *actor) recordDenied(r *stepResult, before agent.State, f agent.Decided, now time.Time) {
	for _, c := range before.Batch {
		if c.ApprovalID() == f.Call && before.IsPlainTool(c.Tool) {
			a.recordRow(r, c, f.User, now)
		}
	}
}
