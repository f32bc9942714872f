// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"

	"github.com/nestor-dev/nestor/internal/agent/budget"
)

// Quarantined is the fact that an event of the agent's history cannot be read, or the driver panicked on one. It ends a sub-agent or tool run
// with ErrorHistoryLost. An orchestrator never ends: it is reset, and another Started begins a new conversation. Earlier events of
// the log need not be readable.
type Quarantined struct {
	// Kind and Name identify the agent, because its Started may be the unreadable event.
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	// Event is the sequence number of the event, and Type its type.
	Event int64  `json:"event,omitempty"`
	Type  string `json:"type,omitempty"`
	// Reason is what is wrong with the event; Panicked reports that the driver panicked on it.
	Reason   string `json:"reason,omitempty"`
	Panicked bool   `json:"panicked,omitempty"`
	// Usage is the recorded usage of the agent and everything below it. ModelCalls is at least the number of its model calls: a
	// new conversation must not reuse their ids.
	Usage      budget.Usage `json:"usage,omitzero"`
	ModelCalls int          `json:"modelCalls,omitempty"`
}

func (Quarantined) fact() {}

// HistoryLoss describes why an orchestrator has lost its history.
type HistoryLoss struct {
	Reason string `json:"reason"`
	At     Time   `json:"time"`
	// Panicked reports that the driver panicked, so the same message may make it panic again.
	Panicked bool `json:"panicked,omitempty"`
}

// quarantined ends an agent. It reads as little of the state as possible, because the state may be damaged.
func quarantined(s State, f Quarantined, at Time) State {
	if s.Phase.Terminal() {
		return s
	}
	used := s.Usage.Max(f.Usage)
	next := State{
		Config: s.Config, Usage: used, Iterations: s.Iterations, ModelCalls: max(s.ModelCalls, f.ModelCalls), Posts: s.Posts, Labels: s.Labels,
		Clock: Clock{Started: s.Clock.Started, Now: max(at, s.Clock.Now)}, Budget: budget.Budget{Limit: s.Budget.Limit, Used: s.Budget.Used.Max(used.Amount())},
	}
	if next.Config.Name == "" {
		next.Config.Kind, next.Config.Name = f.Kind, f.Name
	}
	if next.Clock.Started == 0 {
		next.Clock.Started = next.Clock.Now
	}
	if f.Kind == Orchestrator {
		next.HistoryLoss = &HistoryLoss{Reason: f.Text(), At: next.Clock.Now, Panicked: f.Panicked}
		return next
	}
	// The children are cancelled and count as ended: nothing waits for them.
	next.Children = Children{Started: s.Children.Started, Finished: s.Children.Started}
	next.Outcome = &Outcome{Kind: ErrorHistoryLost, Error: f.Text(), Iterations: s.Iterations, Duration: Millis(next.Clock.Now - next.Clock.Started), Labels: s.LabelNames()}
	next.History, next.Summary = s.History, s.Summary
	next.Phase = PhaseFailed
	return next
}

// restartConversation begins the conversation after a lost one. Usage and counters continue.
func restartConversation(lost State, f Started, e Event) State {
	s := start(f, e)
	s.Usage, s.Budget.Used = lost.Usage, lost.Budget.Used
	s.ModelCalls, s.Posts = lost.ModelCalls, lost.Posts
	for _, label := range lost.Labels {
		s = s.withLabels([]string{label.Name}, label.Source, label.Call)
	}
	return s.resetWindow(s.Budget.Used)
}

// Text returns a message that names the event and what to do about it.
func (f Quarantined) Text() string {
	what := fmt.Sprintf("Event %d (%s) of its history cannot be read: %s.", f.Event, f.Type, f.Reason)
	if f.Panicked {
		what = fmt.Sprintf("The operator failed on event %d (%s): %s. It is a fault of Nestor; the operator's log has the details.", f.Event, f.Type, f.Reason)
	}
	switch f.Kind {
	case Orchestrator:
		return what + " The chat has lost its history."
	case ToolRun:
		return what + " Its tool may have run: check its effects, and create the task again if it must run."
	}
	return what + " The agent was stopped and is not tried again. Create the task again."
}

// DecodeAndApply applies one event of a log to a state. It returns an error and the unchanged state if the event cannot be
// decoded or the core panics on it.
func DecodeAndApply(s State, data json.RawMessage) (next State, e Event, err error) {
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
