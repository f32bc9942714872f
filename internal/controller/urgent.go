// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
)

// isUrgent reports whether a person or another agent waits for the result of a step: a child to start, a question to
// show, an answer to deliver, an end. Everything else is progress, which is written about once a second. Becoming
// active is progress too: most agents finish before a status write would be seen.
func isUrgent(c engine.Change) bool {
	for _, effect := range c.Effects {
		switch effect.(type) {
		case agent.StartChild, agent.CancelChild, agent.AskPerson, agent.SendItem, agent.ReportOutcome:
			return true
		}
	}
	if c.After.WaitsForStartPublished() {
		return true // its tool call waits for the status
	}
	if c.After.Config.Kind == agent.Orchestrator {
		return c.After.Phase == agent.PhaseIdle && c.Before.Phase != agent.PhaseIdle ||
			openAsks(c.Before) != openAsks(c.After) || (c.Before.TurnFailure == nil) != (c.After.TurnFailure == nil)
	}
	before, after := c.Before.Stage(), c.After.Stage()
	return before != after && (needsPerson(c.Before) || after != agent.StageActive && after != agent.StagePending)
}

// changesAsks reports whether a step changed the asks of an agent. A standalone task shows the asks of the agents below
// it.
func changesAsks(c engine.Change) bool { return needsPerson(c.Before) || needsPerson(c.After) }

func needsPerson(s agent.State) bool {
	standing := s.Stage()
	return standing == agent.StageWaitingForUser || standing == agent.StageWaitingForApproval
}

func openAsks(s agent.State) int {
	open := 0
	for _, ask := range s.Asks {
		if ask.Open {
			open++
		}
	}
	return open
}
