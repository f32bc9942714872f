// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"

	"github.com/nestor-dev/nestor/internal/agent/budget"
)

// Fork describes the recorded run with which an agent begins.
type Fork struct {
	// Origin is the UID of the agent whose events begin those of this one, and Sequence the last of them. End is the last event of the
	// record: what the origin did after it is not part of the fork.
	Origin   string `json:"origin"`
	Sequence int64  `json:"sequence"`
	End      int64  `json:"end"`
	// Replies and Results are where the model's replies and the results of calls come from.
	Replies ReplySource  `json:"replies"`
	Results ResultSource `json:"results"`
}

// UsesRecord reports whether replies or results come from the record. A nil Fork has none.
func (f *Fork) UsesRecord() bool { return f.recallsReplies() || f.recallsResults() }

func (f *Fork) recallsReplies() bool { return f != nil && f.Replies == RepliesRecorded }

func (f *Fork) recallsResults() bool {
	return f != nil && (f.Results == ResultsRecorded || f.Results == ResultsReadOnly)
}

// ReplySource is where the replies of a fork's model come from.
type ReplySource string

// The sources of replies.
const (
	RepliesRecorded ReplySource = "Recorded"
	RepliesLive     ReplySource = "Live"
)

// ResultSource is where the results of a fork's calls come from.
type ResultSource string

// The sources of results.
const (
	// ResultsRecorded: from the record. A call that is not in it ends the run.
	ResultsRecorded ResultSource = "Recorded"
	// ResultsReadOnly: from the record. Calls of read-only tools that are not in it are made.
	ResultsReadOnly ResultSource = "ReadOnly"
	// ResultsLive: all calls are made.
	ResultsLive ResultSource = "Live"
)

// Forked is the first fact of a fork that is not one of its origin. It changes a run at a point where nothing is outstanding.
type Forked struct {
	Fork Fork `json:"fork"`
	// Name and TaskName are the names of the fork; see Config.
	Name     string `json:"name"`
	TaskName string `json:"taskName,omitempty"`
	// Config replaces the recorded configuration if the role, the model or the provider has changed.
	Config *Config `json:"config,omitempty"`
	// Notes are for the model, and Instruction is the message with which the run continues. Both may be empty.
	Notes       []string `json:"notes,omitempty"`
	Instruction string   `json:"instruction,omitempty"`
	// Labels are content labels of the fork, and Requesters those who requested the origin or the fork.
	Labels     []string   `json:"labels,omitempty"`
	Requesters Requesters `json:"requesters,omitzero"`
	// Policed reports that policies apply to the agent.
	Policed bool `json:"policed,omitempty"`
}

func (Forked) fact() {}

// MayFork reports whether runs of a configuration can be forked: not those of tools and chats, of remote agents, which keep a part of
// their state elsewhere, and of isolated agents, whose conversation must not leave them.
func (c Config) MayFork() bool { return c.Kind == SubAgent && !c.Remote && !c.Isolated }

// IsForkPoint reports whether a fork can begin after the state: the model is about to be called, and no call, child, question or round is
// outstanding.
func (s State) IsForkPoint() bool {
	c := s.ModelCall
	return s.Config.MayFork() && s.Phase == PhaseRequesting && s.Children.Pending() == 0 && s.Planned == nil &&
		c.Purpose == PurposeTurn && c.Attempt == 1 && c.RetryTime == 0 && c.Quota == nil
}

// isContinuable reports whether a run has ended and an instruction continues it.
func (s State) isContinuable() bool { return s.Config.MayFork() && s.Phase.Terminal() }

// ForkPoint is where a fork begins.
type ForkPoint struct {
	// Sequence is the last event of the origin that is part of the fork; 0 if it begins anew. State is the state after it.
	Sequence int64
	State    State
}

// ForkFinder finds the last point of a fork at or before an event while the states of the origin are computed. A run that has ended, and one
// whose model has not replied yet, accept an instruction in another way than other points: the former continues, and the latter begins anew
// with it.
type ForkFinder struct {
	// Sequence is the event, and Instruction reports that the fork has one.
	Sequence    int64
	Instruction bool
	// Point is the last point among the states that were added.
	Point ForkPoint
}

// Add adds the state after an event. States are added in order.
func (f *ForkFinder) Add(sequence int64, s State) {
	if sequence > f.Sequence || s.Phase.Terminal() && f.Point.State.Phase.Terminal() { // later events of a run that has ended change nothing
		return
	}
	if s.IsForkPoint() && (!f.Instruction || s.Iterations > 0) || f.Instruction && s.isContinuable() {
		f.Point = ForkPoint{Sequence: sequence, State: s}
	}
}

// forked begins a fork. The limits that hold for the run continue to count, and its usage begins anew: what the origin has used is
// reported there.
func forked(s State, f Forked, at Time) State {
	if s.Config.Fork != nil && s.Config.Fork.Origin == f.Fork.Origin || !s.IsForkPoint() && (f.Instruction == "" || !s.isContinuable()) {
		return s
	}
	if s.Phase.Terminal() {
		s = s.reopened()
	} else {
		s = s.endModelCall(budget.Usage{})
		s.ModelCalls-- // the call is made by the fork
	}
	s.Clock = s.Clock.advance(at, false)
	s.Clock.Started = s.Clock.Now
	s = s.withForkConfig(f).withFrame().withConfigLabels()
	s.Budget.Limit = s.Config.Limits.budget()
	s.Usage, s.Seen, s.Policed, s.PolicyWait, s.Recalled = budget.Usage{}, nil, f.Policed, "", nil
	s.Labels = s.Labels.with(f.Labels, SourceParent, "")
	s.Requesters = s.Requesters.Merge(f.Requesters)
	for _, note := range f.Notes {
		s = s.appendUserText(note)
	}
	if f.Instruction != "" {
		s = s.appendUserText(f.Instruction)
	}
	return requestModelCall(s)
}

// reopened returns a run that has ended as it was before its end, with limits that count anew.
func (s State) reopened() State {
	s.Outcome, s.LimitReached, s.Iterations = nil, nil, 0
	s.Loop, s.Defect, s.Review = Loop{}, Defect{}, Reviewing{}
	s.Clock.Active = 0
	s.Budget = budget.Budget{}
	return s
}

// withForkConfig returns the state with the configuration of a fork. Items of reasoning are valid for the provider and model that made them.
func (s State) withForkConfig(f Forked) State {
	before := s.Config
	if f.Config != nil {
		s.Config = *f.Config
	}
	s.Config.Name, s.Config.TaskName, s.Config.Fork, s.Config.Origin = f.Name, f.TaskName, &f.Fork, Origin{}
	if s.Config.Provider == before.Provider && s.Config.Model == before.Model {
		return s
	}
	messages := s.History.Messages()
	if !slices.ContainsFunc(messages, func(m Message) bool { return len(m.ReasoningItems) > 0 }) {
		return s // requests of a history that stays the same are stored as edits
	}
	for i := range messages {
		messages[i].ReasoningItems = nil
	}
	s.History = NewHistory(slices.Clip(messages)...)
	return s
}
