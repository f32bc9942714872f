// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
)

// Quarantined says that an agent cannot go on: an event of its history cannot be read, or the driver failed on one. It ends a sub-agent or
// tool run with KindHistoryLost. An orchestrator has no end: it is as if it had never begun, and another Started begins a new
// conversation. What comes before it in a log need not be readable.
type Quarantined struct {
	// Kind and Name are the agent's: its first event may be the one that cannot be read.
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	// Event is the sequence of the event, and Type its type.
	Event int64  `json:"event,omitempty"`
	Type  string `json:"type,omitempty"`
	// Reason is what is wrong with the event; Panicked says that the driver failed on it.
	Reason   string `json:"reason,omitempty"`
	Panicked bool   `json:"panicked,omitempty"`
	// Usage is what the agent has used, with everything below it, by the calls on record. Requests is at least the number of its model
	// calls: a new conversation does not use their ids again.
	Usage    Usage `json:"usage,omitzero"`
	Requests int   `json:"requests,omitempty"`
}

func (Quarantined) fact() {}

// Lost is why an orchestrator has lost its history.
type Lost struct {
	Reason string `json:"reason"`
	At     Time   `json:"at"`
	// Panicked says that the driver failed, so that the same message may make it fail again.
	Panicked bool `json:"panicked,omitempty"`
}

// quarantined ends an agent. It reads as little of the state as possible: the state may be what is wrong.
func quarantined(s State, f Quarantined, at Time) State {
	if s.Phase.Terminal() {
		return s
	}
	used := s.Usage.atLeast(f.Usage)
	next := State{
		Config: s.Config, Usage: used, Iterations: s.Iterations, Requests: max(s.Requests, f.Requests), Posts: s.Posts,
		Clock: Clock{Started: s.Clock.Started, Now: max(at, s.Clock.Now)}, Budget: Budget{Limit: s.Budget.Limit, Used: s.Budget.Used.atLeast(used.amount())},
	}
	if next.Config.Name == "" {
		next.Config.Kind, next.Config.Name = f.Kind, f.Name
	}
	if next.Clock.Started == 0 {
		next.Clock.Started = next.Clock.Now
	}
	if f.Kind == Orchestrator {
		next.Lost = &Lost{Reason: f.Text(), At: next.Clock.Now, Panicked: f.Panicked}
		return next
	}
	// Nobody waits for its children: they are stopped, and count as ended.
	next.Children = Children{Started: s.Children.Started, Completed: s.Children.Started}
	next.Outcome = &Outcome{Kind: KindHistoryLost, Error: f.Text(), Iterations: s.Iterations, Duration: Millis(next.Clock.Now - next.Clock.Started)}
	next.History, next.Summary = s.History, s.Summary
	next.Phase = PhaseFailed
	return next
}

// startAnew begins the conversation after the one that was lost. What that one used still counts.
func startAnew(lost State, f Started, e Event) State {
	s := start(f, e)
	s.Usage, s.Budget.Used = lost.Usage, lost.Budget.Used
	s.Requests, s.Posts = lost.Requests, lost.Posts
	return s.openWindow(s.Budget.Used)
}

// atLeast is the larger of two usages, number by number.
func (u Usage) atLeast(v Usage) Usage {
	most := Usage{
		PromptTokens: max(u.PromptTokens, v.PromptTokens), CompletionTokens: max(u.CompletionTokens, v.CompletionTokens),
		ModelCalls: max(u.ModelCalls, v.ModelCalls), Tasks: max(u.Tasks, v.Tasks), CostMicros: u.CostMicros,
	}
	if v.CostMicros != nil && (u.CostMicros == nil || *v.CostMicros > *u.CostMicros) {
		most.CostMicros = v.CostMicros
	}
	return most
}

func (a Amount) atLeast(b Amount) Amount {
	return Amount{Tokens: max(a.Tokens, b.Tokens), CostMicros: max(a.CostMicros, b.CostMicros), Tasks: max(a.Tasks, b.Tasks)}
}

// Text names the event, and says what to do.
func (f Quarantined) Text() string {
	what := fmt.Sprintf("Event %d (%s) of its history cannot be read: %s.", f.Event, f.Type, f.Reason)
	if f.Panicked {
		what = fmt.Sprintf("The operator failed on event %d (%s): %s. It is a fault of Nestor; the operator's log has the details.", f.Event, f.Type, f.Reason)
	}
	switch f.Kind {
	case Orchestrator:
		return what + " The chat has lost its history."
	case ToolRun:
		return what + " Its tool may have run: look at what it did, and create the task again if it must run."
	}
	return what + " The agent was stopped and is not tried again. Create the task again."
}

// Read applies one event of a log to a state. An event that cannot be read, or that the core fails on, is an error and leaves the state as it
// is.
func Read(s State, data json.RawMessage) (next State, e Event, err error) {
	defer func() {
		if value := recover(); value != nil {
			next, err = s, fmt.Errorf("the state after it cannot be computed: %v", value)
		}
	}()
	if err := json.Unmarshal(data, &e); err != nil {
		return s, Event{}, err
	}
	return apply(s, e), e, nil
}
