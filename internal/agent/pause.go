// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"

	"github.com/nestor-dev/nestor/internal/agent/budget"
)

// Window counts what happens in a chat without a person: since the last message, or since the chat began. Its limits bound turns,
// tasks and tokens of a window regardless of what the models do.
type Window struct {
	// Turns counts the turns that the orchestrator has begun.
	Turns int `json:"turns,omitempty"`
	// Repeats counts the delegations that ended with the same result.
	Repeats []Repeat `json:"repeats,omitempty"`
	// LimitReached is a limit that the current turn has reached; the chat pauses when the turn ends.
	LimitReached PauseReason `json:"limitReached,omitempty"`
}

func (w Window) same(v Window) bool {
	return w.Turns == v.Turns && w.LimitReached == v.LimitReached && same(w.Repeats, v.Repeats)
}

// Repeat counts a delegation with a certain result.
type Repeat struct {
	Digest string `json:"digest"`
	Count  int    `json:"count"`
}

// maxRepeats bounds the delegations that a window counts.
const maxRepeats = 64

// Pause describes why an orchestrator begins no turn. Running tasks continue; the next message of a person ends the pause.
type Pause struct {
	Reason PauseReason `json:"reason"`
	// Text explains which limit was reached and how to continue.
	Text string `json:"text"`
	At   Time   `json:"time,omitempty"`
}

// PauseReason is the limit that paused a chat, as named in its condition.
type PauseReason string

// The limits that pause a chat.
const (
	PausedTurnLimit  PauseReason = "PausedTurnLimit"
	PausedTaskLimit  PauseReason = "PausedTaskLimit"
	PausedTokenLimit PauseReason = "PausedTokenLimit"
	PausedLoop       PauseReason = "PausedLoop"
)

// resetWindow starts a new window when a person sends a message. treeUsage is the usage of the tree at that time.
func (s State) resetWindow(treeUsage budget.Amount) State {
	limits := s.Config.Limits
	s.Window, s.Paused = Window{}, nil
	s.Budget.Until = budget.Amount{}
	if n := limits.MaxTokensPerMessage; n > 0 {
		s.Budget.Until.Tokens = budget.Sum(max(treeUsage.Tokens, s.Budget.Used.Tokens), n)
	}
	if n := limits.MaxTasksPerMessage; n > 0 {
		s.Budget.Until.Tasks = budget.Sum(max(treeUsage.Tasks, s.Budget.Used.Tasks), n)
	}
	return s
}

// pause ends the current turn, if any, and prevents the next. Questions are posted, because no turn will answer them.
func pause(s State, reason PauseReason) State {
	text := textPaused(reason, s.Config.Limits)
	s = abandonBatch(s, "Not done: the chat is paused.")
	s.Paused = &Pause{Reason: reason, Text: text, At: s.Clock.Now}
	s.Window.LimitReached = ""
	s = s.dropQuestions(func(Input) bool { return true }).postQuestions()
	s = s.post(Item{System: true, Text: text, InReplyTo: s.Turn.InReplyTo, Notice: NoticeFailed})
	s.Phase = PhaseIdle
	return s
}

// reserveTasks counts new tasks if the limits of the agent and of its tree (available, nil for no limit) allow them.
func (s State) reserveTasks(tasks int64, available *int64) (State, bool) {
	amount := budget.Amount{Tasks: tasks}
	if available != nil && *available < tasks {
		return s, false
	}
	if _, ok := s.Budget.Reserve(amount); !ok {
		return s, false
	}
	s.Budget.Used = s.Budget.Used.Plus(amount)
	s.Usage.Tasks = budget.Sum(s.Usage.Tasks, tasks)
	return s, true
}

// refuseTasks answers a call whose tasks exceed the limits. An orchestrator pauses at the end of its turn.
func (s State) refuseTasks(c BatchCall, tasks int64) (State, BatchCall) {
	if s.Config.Kind == Orchestrator {
		s.Window.LimitReached = PausedTaskLimit
	}
	return s, c.done(ToolFailed, fmt.Sprintf("Nothing was started: %d more would exceed the limit on the number of tasks. "+
		"Start no more tasks: finish with what you have, and say what is missing.", tasks))
}

// RequestedTasks returns how many tasks the calls of a reply may start at most, for a driver that has the limits of the whole
// tree.
func RequestedTasks(s State, reply ModelReplied) int64 {
	calls := reply.Calls
	switch {
	case s.ModelCall != nil && s.ModelCall.Purpose == PurposeContext && s.Planned != nil:
		calls = s.Planned.Calls
	case s.needsSharedSummary(calls):
		return 0 // the calls are made after the next reply
	}
	var requested int64
	for _, c := range calls {
		switch {
		case c.Tool == ToolSubmit && s.Config.reviews():
			requested++ // the reviewer
		case !s.Config.startsTasks(c.Tool):
		case c.Tool == ToolSpawn:
			var in struct {
				Tasks []struct{} `json:"tasks"`
			}
			if jsonInto(c.Arguments, &in) == nil {
				requested += int64(len(in.Tasks))
			}
		default:
			requested++
		}
	}
	return requested
}

func textPaused(reason PauseReason, l Limits) string {
	reached := ""
	switch reason {
	case PausedTurnLimit:
		reached = fmt.Sprintf("%d turns were taken since your last message (limits.maxTurnsPerMessage)", l.MaxTurnsPerMessage)
	case PausedTaskLimit:
		reached = fmt.Sprintf("more than %d tasks would have been started since your last message (limits.maxTasksPerMessage)", l.MaxTasksPerMessage)
	case PausedTokenLimit:
		reached = fmt.Sprintf("the next model call could exceed the %d tokens that may be used since your last message (limits.maxTokensPerMessage)", l.MaxTokensPerMessage)
	case PausedLoop:
		reached = fmt.Sprintf("the same work was delegated %d times with the same result", l.MaxRepeats)
	}
	return "Paused: " + reached + ". Running work continues to its end, and nothing new starts. Send a message to continue."
}
