// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "github.com/nestor-dev/nestor/internal/agent"

// Run is a sub-agent, a tool run or a turn of an orchestrator that has ended.
type Run struct {
	// State is its last state.
	State     agent.State
	Since, At agent.Time
	// Kind and Message are the kind and message of the error; they are empty if it succeeded.
	Kind    agent.ErrorKind
	Message string
}

// Runs returns the runs that ended with the change.
func (c Change) Runs() []Run {
	orchestrator := c.After.Config.Kind == agent.Orchestrator
	if !orchestrator && !c.Deleted && !c.After.Phase.Terminal() {
		return nil // terminal phases are final, so a replay would find none
	}
	var runs []Run
	c.Steps(func(before agent.State, e agent.Event, after agent.State) {
		if orchestrator {
			runs = append(runs, endedTurns(before, e, after)...)
			return
		}
		if after.Phase.Terminal() && !before.Phase.Terminal() {
			runs = append(runs, Run{State: after, Since: after.Clock.Started, At: e.At, Kind: after.Outcome.Kind, Message: after.Outcome.Error})
		}
	})
	if c.Deleted && !orchestrator && !c.After.Phase.Terminal() {
		runs = append(runs, Run{State: c.After, Since: c.After.Clock.Started, At: c.After.Clock.Now, Kind: agent.ErrorCancelled})
	}
	return runs
}

// endedTurns returns the turns that a step of an orchestrator ended. A turn that cannot make a model call ends in the step that
// began it, possibly together with the previous turn.
func endedTurns(before agent.State, e agent.Event, after agent.State) []Run {
	var turns []Run
	next := after.Turn.Number != before.Turn.Number
	if before.Phase != agent.PhaseIdle && before.Turn.Number > 0 && (after.Phase == agent.PhaseIdle || next) {
		turns = append(turns, endedTurn(before, after.TurnFailure, !next, e))
	}
	if next && after.Phase == agent.PhaseIdle {
		turns = append(turns, endedTurn(after, after.TurnFailure, true, e))
	}
	return turns
}

// endedTurn returns the turn that the event ended. The error belongs to this turn only if it is the last one. A cancel is not an
// error for an orchestrator, which continues with the next turn.
func endedTurn(state agent.State, failure *agent.Failure, last bool, e agent.Event) Run {
	run := Run{State: state, Since: state.Turn.StartTime, At: e.At}
	if _, cancelled := e.Fact.(agent.Cancelled); cancelled {
		run.Kind = agent.ErrorCancelled
	}
	if last && failure != nil {
		run.Kind, run.Message = failure.Kind, failure.Reason
	}
	return run
}
