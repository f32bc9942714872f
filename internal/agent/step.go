// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
)

// Step applies an event to a state. It returns the new state and the effects that became necessary.
//
// It is total: it accepts every event in every state. Repeated or late events, and events about unknown things, change nothing.
//
// Step functions only change the state. Effects follow from the state (see Outstanding), and a step returns those that it added,
// so that a running driver and a restarted one always agree.
func Step(s State, e Event) (State, []Effect) {
	next := apply(s, e)
	if _, ok := e.Fact.(Quarantined); ok {
		return next, nil // the state that requested the effects may be what failed
	}
	return next, newEffects(s, next)
}

// Replay folds a log of events into a state.
func Replay(s State, events []Event) State {
	for _, e := range events {
		s = apply(s, e)
	}
	return s
}

func apply(s State, e Event) State {
	s.byBytes = e.Estimate == EstimateBytes
	s = applyFact(s, e)
	s.byBytes = false
	return s
}

func applyFact(s State, e Event) State {
	if f, ok := e.Fact.(Quarantined); ok {
		return quarantined(s, f, e.At)
	}
	if s.Phase.Terminal() {
		return s
	}
	if s.Phase == PhaseNew {
		started, ok := e.Fact.(Started)
		switch {
		case !ok:
			return s
		case s.Lost != nil:
			return settle(startAnew(s, started, e))
		}
		return settle(start(started, e))
	}
	s.Clock = s.Clock.advance(e.At, !standstill(e.Fact) && s.Phase != PhaseIdle && !s.Suspended())
	return settle(dispatch(s, e.Fact))
}

// standstill reports whether the time before a fact does not count, because no driver or slot was available.
func standstill(fact Fact) bool {
	switch fact.(type) {
	case Restarted, Resumed:
		return true
	}
	return false
}

// dispatch passes a fact to its function: first those that are handled in every phase, then one function for each phase.
func dispatch(s State, fact Fact) State {
	switch f := fact.(type) {
	case MessageArrived:
		return messageArrived(s, f)
	case Cancelled:
		return cancelled(s, f)
	case ChildFinished:
		return childFinished(s, f)
	case ChildWaits:
		return childWaits(s, f)
	case Asked:
		return asked(s, f)
	case Settled:
		return settled(s, f)
	case Delivered:
		return delivered(s, f)
	case Shown:
		s.Shown = true
		return s
	case NameTaken:
		return nameTaken(s, f)
	case Reconfigured:
		return reconfigured(s, f)
	}
	switch s.Phase {
	case PhaseRequesting:
		return stepRequesting(s, fact)
	case PhaseActing:
		return stepActing(s, fact)
	}
	// An idle orchestrator and an agent that is ending wait for nothing else: late results are ignored.
	return s
}

// settle applies the transitions that need no event. It checks the deadline in every iteration, because a transition may make the
// agent active again, for example when an approved call is released.
func settle(s State) State {
	for {
		s = checkDeadline(s)
		switch {
		case s.Phase == PhaseIdle && s.Hold == nil && s.Next != nil:
			s = takeConfig(s)
		case s.Phase == PhaseIdle && s.Hold == nil && len(s.Inbox) > 0 && s.Paused == nil:
			s = beginTurn(s)
		case s.Phase == PhaseActing && s.decided():
			s = releaseHeld(s)
		case s.Phase == PhaseActing && len(s.admissible()) > 0:
			s = admit(s, s.admissible())
		case s.Phase == PhaseActing && s.answered():
			s = endBatch(s)
		case s.Phase == PhaseCancelling && s.Children.Pending() == 0:
			return conclude(s)
		default:
			return s
		}
	}
}

func start(f Started, e Event) State {
	s := State{
		Config:  f.Config,
		Clock:   Clock{Now: e.At, Started: e.At},
		History: NewHistory(f.History...),
		Budget:  Budget{Limit: f.Config.Limits.budget()},
		byBytes: e.Estimate == EstimateBytes,
	}.withFrame()
	for _, m := range f.History {
		for _, c := range m.Calls {
			s.CallIDs = s.CallIDs.with(c.ID)
		}
	}
	switch s.Config.Kind {
	case SubAgent:
		opens := s.Config.Task.Mode == ContextSelective && len(s.Config.Task.ContextFiles) > 0
		if opens && s.Config.Depth <= s.Config.MaxDepth {
			return readFirst(s)
		}
		s = s.hear(s.Config.Task.text())
		if s.Config.Depth > s.Config.MaxDepth {
			return end(s, Outcome{Kind: KindDepthLimit, Error: fmt.Sprintf("depth %d is more than the limit of %d", s.Config.Depth, s.Config.MaxDepth)})
		}
		return request(s)
	case ToolRun:
		return startToolRun(s)
	default:
		s.Phase = PhaseIdle
		return s.openWindow(Amount{})
	}
}

// startToolRun makes the call of a tool run its batch, so that approval, cancellation, time limit and crash safety work as for
// any other call.
func startToolRun(s State) State {
	s.Phase = PhaseActing
	var planned PlannedCall
	if s.Config.Call != nil {
		planned = *s.Config.Call
	}
	call := Call{CallRequest: CallRequest{ID: s.Config.Name, Tool: planned.Tool, Arguments: string(planned.Arguments)}, At: s.Clock.Now}
	if call.Arguments == "" {
		call.Arguments = "{}"
	}
	// Normalise the bytes as a log does: a decision contains their digest.
	if written, err := json.Marshal(planned.Arguments); err == nil && len(planned.Arguments) > 0 {
		call.Arguments = string(written)
	}
	if !isObject(call.Arguments) {
		return end(s, Outcome{Kind: KindInvalidSpec, Error: textNotAnObject(call.Tool)})
	}
	s.Batch = []Call{planTool(s, call)}
	return s
}

// hear appends a user message to the history.
func (s State) hear(text string) State {
	s.History = s.History.Append(Message{Speaker: User, Text: text, At: s.Clock.Now})
	return s
}

func delivered(s State, f Delivered) State {
	for i, item := range s.Outbox {
		if item.ID == f.ID {
			s.Outbox = append(append([]Item(nil), s.Outbox[:i]...), s.Outbox[i+1:]...)
			return s
		}
	}
	return s
}
