// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"

	"github.com/nestor-dev/nestor/internal/agent/budget"
)

// Step applies an event to a state. It returns the new state and the effects that became necessary.
//
// It is total: it accepts every event in every state. Repeated or late events, and events about unknown things, change nothing.
//
// Step functions only change the state. Effects follow from the state (see Outstanding), and a step returns those that it added,
// so that a running driver and a restarted one always agree.
func Step(s State, e Event) (State, []Effect) {
	next := apply(s, e)
	switch e.Fact.(type) {
	case Quarantined:
		return next, nil // the state that requested the effects may be what failed
	case Forked:
		if next.Config.Fork != s.Config.Fork {
			return next, Outstanding(next) // the effects before it are those of the origin
		}
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
	s = applyEvent(s, e)
	s.judgedNow, s.answered = nil, nil
	return s
}

// applyEvent is apply without clearing the fields that are valid only during a step.
func applyEvent(s State, e Event) State {
	s.answered = nil
	switch f := e.Fact.(type) {
	case Quarantined:
		return quarantined(s, f, e.At)
	case Forked:
		return advance(forked(s, f, e.At))
	}
	if s.Phase.Terminal() {
		return s
	}
	if s.Phase == PhaseNew {
		started, ok := e.Fact.(Started)
		switch {
		case !ok:
			return s
		case s.HistoryLoss != nil:
			return advance(restartConversation(s, started, e))
		}
		return advance(start(started, e))
	}
	s.Clock = s.Clock.advance(e.At, !stopsClock(e.Fact) && s.Phase != PhaseIdle && !s.Suspended())
	return advance(dispatch(s, e.Fact))
}

// stopsClock reports whether the time before a fact does not count, because no driver or slot was available.
func stopsClock(fact Fact) bool {
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
	case AskResolved:
		return askResolved(s, f)
	case ItemSent:
		return itemSent(s, f)
	case StartPublished:
		if s.StartPublished {
			return s
		}
		s.StartPublished = true
		return requeueRunning(s, OpenCalls{})
	case Judged:
		return judged(s, f)
	case Resumed:
		return requeueRunning(s.startPolicing(f.Policed), f.OpenCalls)
	case NameTaken:
		return nameTaken(s, f)
	case Reconfigured:
		return reconfigured(s, f)
	case RemoteCancelled:
		return remoteCancelled(s, f)
	case Allowed:
		return allowed(s, f)
	case AllowanceRevoked:
		return allowanceRevoked(s, f)
	case Recalled:
		return recalled(s, f)
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

// advance applies the transitions that need no event. It checks the deadline in every iteration, because a transition may make the
// agent active again, for example when an approved call is released.
func advance(s State) State {
	for {
		s = checkDeadline(s)
		switch {
		case s.Phase == PhaseIdle && s.Hold == nil && s.NextConfig != nil:
			s = applyNextConfig(s)
		case s.Phase == PhaseIdle && s.Hold == nil && len(s.Inbox) > 0 && s.Paused == nil:
			s = beginTurn(s)
		case s.findUntimed() >= 0:
			s = s.beginTimeout()
		case s.findExpired() >= 0:
			s = expire(s)
		case s.Phase == PhaseActing && s.allDecided():
			s = releaseHeld(s)
		case s.Phase == PhaseActing && len(s.startableCalls()) > 0:
			s = startCalls(s, s.startableCalls())
		case s.Phase == PhaseActing && s.allAnswered():
			s = endBatch(s)
		case s.Phase == PhaseCancelling && s.Children.Pending() == 0 && !s.RemoteOpen:
			return finish(s)
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
		Summary: f.Summary,
		Policed: f.Policed,
		Budget:  budget.Budget{Limit: f.Config.Limits.budget()},
		Labels:  f.labels(),

		Requesters: f.Requesters,
	}.withFrame().withConfigLabels()
	for _, m := range f.History {
		for _, c := range m.Calls {
			s.CallIDs = s.CallIDs.with(c.ID)
		}
	}
	switch s.Config.Kind {
	case SubAgent:
		readsFiles := s.Config.Task.ContextMode == ContextSelective && len(s.Config.Task.ContextFiles) > 0
		switch mayStart := s.Config.Depth <= s.Config.MaxDepth; {
		case mayStart && s.Config.Task.Inputs != nil:
			return readInputs(s)
		case mayStart && readsFiles:
			return readContextFiles(s)
		}
		s = s.appendUserText(s.Config.Task.text())
		if s.Config.Depth > s.Config.MaxDepth {
			return beginEnd(s, Outcome{Kind: ErrorDepthLimit, Error: fmt.Sprintf("depth %d is more than the limit of %d", s.Config.Depth, s.Config.MaxDepth)})
		}
		return requestModelCall(s)
	case ToolRun:
		return startToolRun(s)
	default:
		s.Phase = PhaseIdle
		return s.resetWindow(budget.Amount{})
	}
}

// startToolRun makes the call of a tool run its batch, so that approval, cancellation, time limit and crash safety work as for
// any other call.
func startToolRun(s State) State {
	s.Phase = PhaseActing
	var planned ToolRunCall
	if s.Config.ToolCall != nil {
		planned = *s.Config.ToolCall
	}
	call := BatchCall{ToolCall: ToolCall{ID: s.Config.Name, Tool: planned.Tool, Arguments: string(planned.Arguments)}, At: s.Clock.Now}
	if call.Arguments == "" {
		call.Arguments = "{}"
	}
	// Normalise the bytes as a log does: a decision contains their digest.
	if normalised, err := json.Marshal(planned.Arguments); err == nil && len(planned.Arguments) > 0 {
		call.Arguments = string(normalised)
	}
	if !isObject(call.Arguments) {
		return beginEnd(s, Outcome{Kind: ErrorInvalidSpec, Error: textNotAnObject(call.Tool)})
	}
	s.Batch = []BatchCall{planTool(s, call)}
	return s
}

func (s State) appendUserText(text string) State {
	s.History = s.History.Append(Message{Speaker: User, Text: text, At: s.Clock.Now})
	return s
}

func itemSent(s State, f ItemSent) State {
	for i, item := range s.Outbox {
		if item.ID == f.ID && (f.Name == "" || item.PostName(s.Config.Name) == f.Name) {
			s.Outbox = append(append([]Item(nil), s.Outbox[:i]...), s.Outbox[i+1:]...)
			return s
		}
	}
	return s
}
