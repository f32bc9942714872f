// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
)

// isUrgent says whether somebody waits for what a step leads to: a child to start, a question to be seen, an answer to be heard, an
// end. Everything else is progress, which is shown about once a second. That an agent is at work is progress too: most are done before
// anybody could have looked.
func isUrgent(c engine.Change) bool {
	for _, effect := range c.Effects {
		switch effect.(type) {
		case agent.StartChild, agent.CancelChild, agent.AskPerson, agent.SendItem, agent.ReportOutcome:
			return true
		}
	}
	if c.After.AwaitsStartPublished() {
		return true // its tool waits for it
	}
	if c.After.Config.Kind == agent.Orchestrator {
		return c.After.Phase == agent.PhaseIdle && c.Before.Phase != agent.PhaseIdle ||
			openAsks(c.Before) != openAsks(c.After) || (c.Before.TurnFailure == nil) != (c.After.TurnFailure == nil)
	}
	before, after := c.Before.Stage(), c.After.Stage()
	return before != after && (needsPerson(c.Before) || after != agent.StageActive && after != agent.StagePending)
}

// changesAsks says whether a step changed what an agent needs a person for. A standalone task shows that for the agents below it.
func changesAsks(c engine.Change) bool { return needsPerson(c.Before) || needsPerson(c.After) }

func needsPerson(s agent.State) bool {
	standing := s.Stage()
	return standing == agent.StageWaitingForUser || standing == agent.StageAwaitingApproval
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
