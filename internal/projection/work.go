// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// Work is the engine's information about an agent that is not in its state.
type Work struct {
	// Parked reports that the agent waits for a slot, because other agents use all of them.
	Parked bool
	// Quota is the name of the quota that has no free slot, if any.
	Quota string
	// Queued is the provider for which the model call waits, if it has waited for some time.
	Queued *Queue
	// Progress is what the tools report about their calls in flight, by the id of the call.
	Progress map[string]string
}

// Queue is a wait for a provider.
type Queue struct {
	Provider string
	Since    agent.Time
}

// standing returns the stage of an agent for its status. An agent that waits for a slot is Pending, as before its
// start, so Active counts only the agents that run.
func (w Work) standing(s agent.State) agent.Stage {
	if standing := s.Stage(); !w.Parked || standing != agent.StageActive {
		return standing
	}
	return agent.StagePending
}

// progress returns what a tool reports about a call that runs.
func (w Work) progress(c agent.BatchCall) string {
	if c.State != agent.CallRunning {
		return ""
	}
	return shorten.Head(w.Progress[c.ID], maxProgress)
}

// pending returns why an agent is not active.
func (w Work) pending() (reason, message string) {
	if w.Parked && w.Quota != "" {
		return v1beta1.ReasonQuotaExhausted, w.Quota
	}
	if w.Parked {
		return v1beta1.ReasonParallelLimit, "It continues when fewer sub-agents of the chat are active (limits.maxParallelTasks)."
	}
	return v1beta1.ReasonPending, "The run has not started."
}
