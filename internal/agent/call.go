// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
)

// CallState is where one call of a batch stands.
type CallState string

// Where a call stands.
const (
	// CallUndecided: a person must decide about it.
	CallUndecided CallState = "Undecided"
	// CallHeld: it is approved, and is queued as soon as the other calls of its reply are decided too.
	CallHeld CallState = "Held"
	// CallQueued: it begins when the calls before it let it; see mayBegin.
	CallQueued CallState = "Queued"
	// CallRunning: the tool runs.
	CallRunning CallState = "Running"
	// CallAsked: it is a question that a person must answer.
	CallAsked CallState = "Asked"
	// CallDelegated: it waits for children.
	CallDelegated CallState = "Delegated"
	// CallDone: Answer is what the model will be told.
	CallDone CallState = "Done"
)

// Call is one tool call of the model's last reply. A batch is answered as a whole: its answers go into the history
// together, in the model's order, once the last of them is there.
type Call struct {
	CallRequest
	// Request is the model call whose reply asked for it; empty for the one call of a tool run.
	Request string `json:"request,omitempty"`
	// Attempt is the try of that model call that was answered.
	Attempt int         `json:"attempt,omitempty"`
	State   CallState   `json:"state"`
	Outcome ToolOutcome `json:"outcome,omitempty"`
	Answer  string      `json:"answer,omitempty"`
	// Images are part of the answer.
	Images []Image `json:"images,omitempty"`
	// Digest stands for the results of a delegation, without names and times, when they are compared with others.
	Digest string `json:"digest,omitempty"`
	// Comment is what the person who approved the call said.
	Comment string `json:"comment,omitempty"`
	// DecidedBy is the person who approved or denied the call.
	DecidedBy string `json:"decidedBy,omitempty"`
	At        Time   `json:"at,omitempty"`
}

func (c Call) done(outcome ToolOutcome, answer string) Call {
	c.State, c.Outcome, c.Answer = CallDone, outcome, answer
	return c
}

// findCall returns the place of the call with this id in the batch, or -1 if it is not there or not in one of the
// given states.
func (s State) findCall(id string, states ...CallState) int {
	return slices.IndexFunc(s.Batch, func(c Call) bool { return c.ID == id && slices.Contains(states, c.State) })
}

// withCall returns the state with one call of the batch changed.
func (s State) withCall(i int, c Call) State {
	s.Batch = slices.Clone(s.Batch)
	s.Batch[i] = c
	return s
}

// maxCallID is the longest id that the API shows.
const maxCallID = 128

// uniqueIDs gives every call of a reply an id that no recent call of this agent had. Models that number their calls
// anew in each reply would otherwise let a late decision about an old call decide a new one.
func (s State) uniqueIDs(calls []CallRequest) ([]CallRequest, State) {
	named := slices.Clone(calls)
	taken := make(map[string]bool, len(calls)) // a reply may have more calls than are remembered
	known := func(id string) bool { return taken[id] || s.CallIDs.has(id) }
	for i := range named {
		id := named[i].ID
		if id == "" || len(id) > maxCallID || known(id) {
			id = fmt.Sprintf("%s-%d", s.Request.ID, i+1)
		}
		for n := 1; known(id); n++ {
			id = fmt.Sprintf("%s-%d.%d", s.Request.ID, i+1, n)
		}
		named[i].ID = id
		taken[id] = true
		s.CallIDs = s.CallIDs.with(id)
	}
	return named, s
}

// presentable returns the calls of a reply as they go into the history. Providers refuse arguments that are not a JSON
// object, even in what they said themselves.
func presentable(calls []CallRequest) []CallRequest {
	shown := slices.Clone(calls)
	for i, c := range shown {
		shown[i].Problem = "" // its answer says it
		switch {
		case c.Arguments == "":
			shown[i].Arguments = "{}"
		case !isObject(c.Arguments):
			shown[i].Arguments = toJSON(map[string]string{"not_an_object": c.Arguments})
		}
	}
	return shown
}
