// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"

	"github.com/nestor-dev/nestor/internal/agent/budget"
)

// stopAtLimit stops the work because a limit is reached. The model gets one last call without tools for a partial answer, unless
// the budget is exhausted.
func stopAtLimit(s State, kind ErrorKind, reason string) State {
	s = s.endModelCall(budget.Usage{})
	if s.Config.Kind == Orchestrator {
		s = s.detachRunningTools()
	} else {
		s.Children = s.Children.cancel(everyChild)
	}
	s = abandonBatch(s, "Not finished: "+reason+".")
	s.LimitReached = &Failure{Kind: kind, Reason: reason}
	if kind == ErrorBudgetExhausted || s.Config.Kind == ToolRun {
		return endAtLimit(s, "")
	}
	return startModelCall(s.appendUserText(textPartialAnswer(reason)), PurposePartialAnswer, 0)
}

// endAtLimit ends the work that a limit has stopped; text is the model's partial answer.
func endAtLimit(s State, text string) State {
	failure := *s.LimitReached
	if s.Config.Kind == Orchestrator {
		s.LimitReached = nil
		if text != "" {
			s = s.post(Item{Text: text, InReplyTo: s.Turn.InReplyTo})
		}
		return failTurn(s, failure)
	}
	outcome := Outcome{Kind: failure.Kind, Error: failure.Reason}
	if text != "" {
		outcome.Result = &Result{Text: text}
	}
	return beginEnd(s, outcome)
}

// checkDeadline stops an agent at its time limit. It runs after the event was applied, so a result that arrives at the deadline
// still counts.
func checkDeadline(s State) State {
	at, ok := s.deadline()
	finished := s.Config.Kind == ToolRun && s.allAnswered()
	if !ok || s.Clock.Now < at || finished {
		return s
	}
	return stopAtLimit(s, ErrorTimedOut, fmt.Sprintf("reached the time limit of %d seconds", s.Config.Limits.MaxDuration/1000))
}

// beginEnd decides the outcome of a sub-agent or tool run. The agent ends when all of its children have ended.
func beginEnd(s State, outcome Outcome) State {
	s = abandonBatch(s.endModelCall(budget.Usage{}), "Not finished: the agent has ended.")
	outcome.Iterations = s.Iterations
	s.Outcome = &outcome
	s.Children = s.Children.cancel(everyChild)
	s.Phase = PhaseCancelling
	return s
}

// remoteCancelled ends the wait for the remote agent of an agent that ends.
func remoteCancelled(s State, f RemoteCancelled) State {
	if s.Phase != PhaseCancelling || !s.RemoteOpen {
		return s
	}
	s.RemoteOpen = false
	if f.Problem != "" && !s.Outcome.Succeeded() {
		outcome := *s.Outcome
		outcome.Error += fmt.Sprintf(" (the remote agent may continue to work: %s)", f.Problem)
		s.Outcome = &outcome
	}
	return s
}

// finish moves an agent to its terminal phase.
func finish(s State) State {
	outcome := *s.Outcome
	outcome.Duration = Millis(s.Clock.Now - s.Clock.Started)
	outcome.Labels = s.LabelNames()
	if s.Config.Isolated {
		outcome = outcome.Isolated()
	}
	s.Outcome = &outcome
	s.Children.Groups = nil
	s.Children = s.Children.dropEnded()
	s.Phase = PhaseFailed
	if outcome.Succeeded() {
		s.Phase = PhaseCompleted
	}
	return s
}

// cancelled stops an agent and everything below it, or all work of an orchestrator.
func cancelled(s State, f Cancelled) State {
	if s.Config.Kind == Orchestrator {
		return cancelInChat(s, f)
	}
	if f.Message != "" {
		s.Seen = s.Seen.with(f.Message)
	}
	if s.Phase == PhaseCancelling {
		return s
	}
	return beginEnd(s.stopModelCall(f), Outcome{Kind: ErrorCancelled, Error: textCancelledBy(f.User)})
}

func everyChild(Child) bool { return true }
