// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "fmt"

// bailOut stops the work because a limit is reached. The model gets one last call without tools for a partial answer, unless the
// budget is exhausted.
func bailOut(s State, kind ErrorKind, reason string) State {
	s = s.hangUp(Usage{})
	if s.Config.Kind == Orchestrator {
		s = s.detach()
	} else {
		s.Children = s.Children.cancel(everyChild)
	}
	s = abandonBatch(s, "Not finished: "+reason+".")
	s.Bailout = &Trouble{Kind: kind, Reason: reason}
	if kind == KindBudgetExhausted || s.Config.Kind == ToolRun {
		return lastWords(s, "")
	}
	return call(s.hear(textLastWords(reason)), PurposeLastWords, 0)
}

// lastWords ends the work that a limit has stopped; text is the model's partial answer.
func lastWords(s State, text string) State {
	trouble := *s.Bailout
	if s.Config.Kind == Orchestrator {
		s.Bailout = nil
		if text != "" {
			s = s.post(Item{Text: text, InReplyTo: s.Turn.InReplyTo})
		}
		return failTurn(s, trouble)
	}
	outcome := Outcome{Kind: trouble.Kind, Error: trouble.Reason}
	if text != "" {
		outcome.Result = &Result{Text: text}
	}
	return end(s, outcome)
}

// checkDeadline stops an agent at its time limit. It runs after the event was applied, so a result that arrives at the deadline
// still counts.
func checkDeadline(s State) State {
	at, ok := s.deadline()
	finished := s.Config.Kind == ToolRun && s.answered()
	if !ok || s.Clock.Now < at || finished {
		return s
	}
	return bailOut(s, KindTimedOut, fmt.Sprintf("reached the time limit of %d seconds", s.Config.Limits.MaxDuration/1000))
}

// end decides the outcome of a sub-agent or tool run. The agent ends when all of its children have ended.
func end(s State, outcome Outcome) State {
	s = abandonBatch(s.hangUp(Usage{}), "Not finished: the agent has ended.")
	outcome.Iterations = s.Iterations
	s.Outcome = &outcome
	s.Children = s.Children.cancel(everyChild)
	s.Phase = PhaseCancelling
	return s
}

// conclude moves an agent to its terminal phase.
func conclude(s State) State {
	outcome := *s.Outcome
	outcome.Duration = Millis(s.Clock.Now - s.Clock.Started)
	s.Outcome = &outcome
	s.Children.Groups = nil
	s.Children = s.Children.forget()
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
	if s.Phase == PhaseCancelling {
		return s
	}
	return end(s, Outcome{Kind: KindCancelled, Error: textCancelledBy(f.By)})
}

func everyChild(Child) bool { return true }
