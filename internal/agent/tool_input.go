// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"slices"
)

// maxToolQuestions bounds the questions of one tool call, so that a tool server cannot ask a person for ever.
const maxToolQuestions = 20

// ToolAsked is the fact that a tool needs an answer from a person before it can finish a call. The agent waits as for ask_user, and
// the answer goes to the tool.
type ToolAsked struct {
	Call     string `json:"call"`
	Question string `json:"question"`
	// Number and Answered distinguish a new question from a repeated event. Number is greater than that of every earlier question of
	// the call, and 0 in events of releases that did not have it. Answered is how many questions of the call had an answer.
	Number   int `json:"number,omitempty"`
	Answered int `json:"answered,omitempty"`
	// Open reports that the call stays in flight and waits for the answer. Otherwise it has ended, and the tool runs again with the
	// answer and State, which is opaque here.
	Open  bool            `json:"open,omitempty"`
	State json.RawMessage `json:"state,omitempty"`
	Content
}

func (ToolAsked) fact() {}

// ToolInput is what a tool asked during a call, and the answers.
type ToolInput struct {
	// Ask is the id of the newest question. It differs from the ids of all recent calls and questions.
	Ask      string          `json:"ask"`
	Question string          `json:"question"`
	Open     bool            `json:"open,omitempty"`
	State    json.RawMessage `json:"state,omitempty"`
	At       Time            `json:"time,omitempty"`
	// Number is that of the newest question. Asked counts the questions, and Rounds how often the tool ran again with an answer.
	Number  int          `json:"number,omitempty"`
	Asked   int          `json:"asked"`
	Rounds  int          `json:"rounds,omitempty"`
	Answers []ToolAnswer `json:"answers,omitempty"`
}

// ToolAnswer is a person's answer to a question of a tool.
type ToolAnswer struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	// User is the person whose message is the answer; empty if that is not known, or if an orchestrator passed it on.
	User string `json:"user,omitempty"`
}

// RoundInput is the input of a tool that runs again after a question: the state that it returned with the question, and the answer.
type RoundInput struct {
	State  json.RawMessage `json:"state,omitempty"`
	Answer string          `json:"answer"`
	User   string          `json:"user,omitempty"`
}

// toolAsked makes a running call wait for a person. A call that waits already may ask only if it is in flight: after a restart a
// repeatable tool runs again and asks the same, or something else.
func toolAsked(s State, f ToolAsked) State {
	i := s.findCall(f.Call, CallRunning, CallAsked)
	if i < 0 || s.Batch[i].State == CallAsked && !s.Batch[i].inFlight() || f.Question == "" {
		return s
	}
	c := s.Batch[i]
	if s.Config.Isolated {
		return s.withCall(i, c.done(ToolFailed, textIsolatedAsked)).withLabels(f.names(), c.Tool, c.ID)
	}
	var input ToolInput
	if c.Input != nil {
		input = *c.Input
	}
	repeated := f.Answered != len(input.Answers) || f.Number > 0 && f.Number <= input.Number
	if repeated || c.State == CallAsked && f.Question == input.Question && f.Open {
		return s
	}
	if input.Asked == maxToolQuestions {
		return s.withCall(i, c.interrupted(s.Config, fmt.Sprintf("The tool asked more than %d questions and was stopped.", maxToolQuestions)))
	}
	input.Asked++
	input.Number = max(input.Number, f.Number)
	input.Question, input.Open, input.State, input.At = f.Question, f.Open, f.State, s.Clock.Now
	input.Ask, s = s.newAskID(c.ID, input.Asked)
	c.State, c.Input = CallAsked, &input
	return s.withCall(i, c).withLabels(f.names(), c.Tool, c.ID)
}

// newAskID returns an id for the n-th question of a call. An orchestrator identifies asks by agent and call, and the call itself may have
// been an ask for approval before.
func (s State) newAskID(call string, n int) (string, State) {
	const maxBase = maxCallID - 16
	base := call[:min(len(call), maxBase)]
	id := fmt.Sprintf("%s-q%d", base, n)
	for k := 1; s.CallIDs.has(id); k++ {
		id = fmt.Sprintf("%s-q%d.%d", base, n, k)
	}
	s.CallIDs = s.CallIDs.with(id)
	return id, s
}

// inFlight reports whether the call stays in flight while it waits: for a person, or for the verdict on the person's answer.
func (c BatchCall) inFlight() bool {
	if c.Input == nil || !c.Input.Open {
		return false
	}
	switch c.State {
	case CallAsked, CallQueued, CallUndecided, CallHeld:
		return true
	}
	return false
}

// askID returns the id under which the call waits for an answer.
func (c BatchCall) askID() string {
	if c.Input != nil {
		return c.Input.Ask
	}
	return c.ID
}

// askText returns the question of a call that waits for an answer.
func (c BatchCall) askText() string {
	if c.Input != nil {
		return c.Input.Question
	}
	return c.question()
}

// findAsked returns the index of the call with this question, or -1.
func (s State) findAsked(ask string) int {
	return slices.IndexFunc(s.Batch, func(c BatchCall) bool { return c.State == CallAsked && c.askID() == ask })
}

// withAnswer records the answer to the question of a tool. A call in flight continues; otherwise the tool runs again.
func (c BatchCall) withAnswer(answer, user string, policed bool) BatchCall {
	input := *c.Input
	input.Answers = append(slices.Clip(input.Answers), ToolAnswer{Question: input.Question, Answer: answer, User: user})
	c.State = CallRunning
	if !input.Open || policed { // the answer is judged like the call
		c.State = CallQueued
	}
	if !input.Open {
		input.Rounds++
	}
	c.Input = &input
	return c
}

// interrupted ends a call that may be in flight.
func (c BatchCall) interrupted(config Config, reason string) BatchCall {
	mayHaveEffect := c.State == CallRunning || c.inFlight()
	if mayHaveEffect && !config.Repeatable(c.Tool) {
		return c.done(ToolUnknown, reason+" "+textUnknownOutcome)
	}
	return c.done(ToolFailed, reason)
}

func (c BatchCall) runEffect() RunTool {
	e := RunTool{Call: c.ID, ModelCall: c.ModelCall, Attempt: c.Attempt, Tool: c.Tool, Arguments: json.RawMessage(c.Arguments), Repeat: c.Repeats}
	if c.Input == nil || c.Input.Rounds == 0 {
		return e
	}
	e.Round = c.Input.Rounds
	e.Input = &RoundInput{State: c.Input.State}
	if n := len(c.Input.Answers); n > 0 {
		e.Input.Answer, e.Input.User = c.Input.Answers[n-1].Answer, c.Input.Answers[n-1].User
	}
	return e
}

// ToolInput returns what the tool of the batch's call has asked, and the answers.
func (s State) ToolInput(call string) ToolInput {
	i := slices.IndexFunc(s.Batch, func(c BatchCall) bool { return c.ID == call })
	if i < 0 || s.Batch[i].Input == nil {
		return ToolInput{}
	}
	return *s.Batch[i].Input
}
