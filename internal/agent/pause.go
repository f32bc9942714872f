// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "fmt"

// Window counts what happens in a chat without a person: since the last message, or since the chat began. Whatever the
// models of a tree do, its limits bound the turns, the tasks and the tokens of a window.
type Window struct {
	// Turns is how many turns the orchestrator has begun.
	Turns int `json:"turns,omitempty"`
	// Repeats are the delegations that have ended, with how often each came to the same result.
	Repeats []Repeat `json:"repeats,omitempty"`
	// Reached is a limit that the turn has met; the chat pauses at its end.
	Reached PauseReason `json:"reached,omitempty"`
}

func (w Window) same(v Window) bool {
	return w.Turns == v.Turns && w.Reached == v.Reached && same(w.Repeats, v.Repeats)
}

// Repeat is a delegation and its result, and how often they came.
type Repeat struct {
	Digest string `json:"digest"`
	Count  int    `json:"count"`
}

// maxRepeats is how many delegations of a window are remembered.
const maxRepeats = 64

// Pause says why an orchestrator begins no turn. What is running goes on to its end; the next message of a person ends the
// pause.
type Pause struct {
	Reason PauseReason `json:"reason"`
	// Text says what was reached and how to go on.
	Text string `json:"text"`
	At   Time   `json:"at,omitempty"`
}

// PauseReason is the limit that paused a chat, as its condition names it.
type PauseReason string

// The limits that pause a chat.
const (
	PausedTurnLimit  PauseReason = "PausedTurnLimit"
	PausedTaskLimit  PauseReason = "PausedTaskLimit"
	PausedTokenLimit PauseReason = "PausedTokenLimit"
	PausedLoop       PauseReason = "PausedLoop"
)

// openWindow begins to count anew, because a person has sent a message. spent is what the tree has used until then.
func (s State) openWindow(spent Amount) State {
	limits := s.Config.Limits
	s.Window, s.Paused = Window{}, nil
	s.Budget.Until = Amount{}
	if n := limits.MaxTokensPerMessage; n > 0 {
		s.Budget.Until.Tokens = sum(max(spent.Tokens, s.Budget.Used.Tokens), n)
	}
	if n := limits.MaxTasksPerMessage; n > 0 {
		s.Budget.Until.Tasks = sum(max(spent.Tasks, s.Budget.Used.Tasks), n)
	}
	return s
}

// pause ends the turn, if there is one, and keeps the next one from beginning. Questions go to the person, since no turn
// will look at them.
func pause(s State, reason PauseReason) State {
	text := textPaused(reason, s.Config.Limits)
	s = abandonBatch(s, "Not done: the chat is paused.")
	s.Paused = &Pause{Reason: reason, Text: text, At: s.Clock.Now}
	s.Window.Reached = ""
	s = s.dropQuestions(func(Input) bool { return true }).postQuestions()
	s = s.post(Item{System: true, Text: text, InReplyTo: s.Turn.InReplyTo})
	s.Phase = PhaseIdle
	return s
}

// chargeTasks books tasks, if the limits of the agent and the room that its tree has for them, nil for any number, allow it.
func (s State) chargeTasks(tasks int64, room *int64) (State, bool) {
	charge := Amount{Tasks: tasks}
	if room != nil && *room < tasks {
		return s, false
	}
	if _, ok := s.Budget.Reserve(charge); !ok {
		return s, false
	}
	s.Budget.Used = s.Budget.Used.Plus(charge)
	s.Usage.Tasks = sum(s.Usage.Tasks, tasks)
	return s, true
}

// refuseTasks answers a call for which the limits leave no room. An orchestrator pauses when its turn is over.
func (s State) refuseTasks(c Call, tasks int64) (State, Call) {
	if s.Config.Kind == Orchestrator {
		s.Window.Reached = PausedTaskLimit
	}
	return s, c.done(ToolFailed, fmt.Sprintf("Nothing was started: %d more would exceed the limit on the number of tasks. "+
		"Start no more tasks: finish with what you have, and say what is missing.", tasks))
}

// TasksWanted is how many tasks the calls of a reply may start at most, for a driver that knows the limits of the whole tree.
func TasksWanted(s State, reply ModelReplied) int64 {
	calls := reply.Calls
	switch {
	case s.Request != nil && s.Request.Purpose == PurposeContext && s.Planned != nil:
		calls = s.Planned.Calls
	case s.needsDigest(calls):
		return 0 // they are made after the next reply
	}
	var wanted int64
	for _, c := range calls {
		switch {
		case !s.Config.startsTasks(c.Tool):
		case c.Tool == ToolSpawn:
			var in struct {
				Tasks []struct{} `json:"tasks"`
			}
			if jsonInto(c.Arguments, &in) == nil {
				wanted += int64(len(in.Tasks))
			}
		default:
			wanted++
		}
	}
	return wanted
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
	return "Paused: " + reached + ". Work that is running goes on to its end, and nothing new starts. Send a message to go on."
}
