// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "fmt"

// bailOut stops the work because a limit is reached. The agent gets one last call without tools for a partial answer,
// but for an exhausted budget, which leaves nothing to pay it with.
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

// lastWords ends what a limit has stopped; text is how far the model said it got.
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

// checkDeadline stops an agent whose time has run out. It looks after the event was applied, so a result that came in
// the last moment still counts.
func checkDeadline(s State) State {
	at, ok := s.deadline()
	finished := s.Config.Kind == ToolRun && s.answered()
	if !ok || s.Clock.Now < at || finished {
		return s
	}
	return bailOut(s, KindTimedOut, fmt.Sprintf("reached the time limit of %d seconds", s.Config.Limits.MaxDuration/1000))
}

// end decides how a sub-agent or tool run ends. It has ended when its children have.
func end(s State, outcome Outcome) State {
	s = abandonBatch(s.hangUp(Usage{}), "Not finished: the agent has ended.")
	outcome.Iterations = s.Iterations
	s.Outcome = &outcome
	s.Children = s.Children.cancel(everyChild)
	s.Phase = PhaseCancelling
	return s
}

// conclude makes the decided end the end.
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

// cancelled stops an agent with everything below it, or all the work of an orchestrator.
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
