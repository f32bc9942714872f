// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// Work is what the engine knows of an agent beyond its state.
type Work struct {
	// Parked says that the agent would be at work but for the agents that are: it waits for a slot.
	Parked bool
	// Quota says which quota leaves no slot, if one does.
	Quota string
	// Queued is where its model call waits for its turn, if it has for longer than a moment.
	Queued *Queue
}

// Queue is a wait for a provider.
type Queue struct {
	Provider string
	Since    agent.Time
}

// standing is where an agent stands, as people see it. One that waits for a slot is Pending, as it was before it began: the number of
// Active agents is the number of those at work.
func (w Work) standing(s agent.State) agent.Stage {
	if standing := s.Stage(); !w.Parked || standing != agent.StageActive {
		return standing
	}
	return agent.StagePending
}

// pending says why an agent is not at work.
func (w Work) pending() (reason, message string) {
	if w.Parked && w.Quota != "" {
		return v1alpha1.ReasonQuotaExhausted, w.Quota
	}
	if w.Parked {
		return v1alpha1.ReasonParallelLimit, "It goes on when fewer sub-agents of the chat are at work (limits.maxParallelTasks)."
	}
	return v1alpha1.ReasonPending, "The run has not begun."
}
