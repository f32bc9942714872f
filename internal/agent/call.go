// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
)

// CallState is the state of one tool call of a batch.
type CallState string

// The states of a tool call.
const (
	// CallUndecided: a person must approve or deny it.
	CallUndecided CallState = "Undecided"
	// CallSought: its result is looked up in the record of a fork.
	CallSought CallState = "Sought"
	// CallHeld: it is approved, and is queued as soon as the other calls of its reply are decided too.
	CallHeld CallState = "Held"
	// CallQueued: it starts when the calls before it allow it; see startable.
	CallQueued CallState = "Queued"
	// CallRunning: the tool runs.
	CallRunning CallState = "Running"
	// CallAsked: it is a question for a person.
	CallAsked CallState = "Asked"
	// CallDelegated: it waits for children.
	CallDelegated CallState = "Delegated"
	// CallDone: Answer is the text for the model.
	CallDone CallState = "Done"
)

// BatchCall is one tool call of the model's last reply. A batch is answered as a whole: once its last call is done, all
// answers are appended to the history in the model's order.
type BatchCall struct {
	ToolCall
	// ModelCall is the id of the model call whose reply contains this call. It is empty for a tool run.
	ModelCall string `json:"modelCall,omitempty"`
	// Attempt is the number of the model call's attempt that returned the reply.
	Attempt int         `json:"attempt,omitempty"`
	State   CallState   `json:"state"`
	Outcome ToolOutcome `json:"outcome,omitempty"`
	Answer  string      `json:"answer,omitempty"`
	// Images are part of the answer.
	Images []Image `json:"images,omitempty"`
	// ResultDigest identifies the results of a delegation without names and times, to detect loops.
	ResultDigest string `json:"resultDigest,omitempty"`
	// Comment is the comment of the person who approved the call.
	Comment string `json:"comment,omitempty"`
	// DecisionUser is the person who approved or denied the call.
	DecisionUser string `json:"decisionUser,omitempty"`
	At           Time   `json:"time,omitempty"`
	// Verdict is the newest judgement by policies; nil before the first. Approved are the rules shown to the
	// person who approved the call.
	Verdict  *CallVerdict `json:"verdict,omitempty"`
	Approved []Verdict    `json:"approved,omitempty"`
	// Writes is the number of writes that the call adds to the usage; repeating the call adds none.
	Writes int64 `json:"writes,omitempty"`
	// Ask is the id of the newest ask for approval if it is not ID, and Decisions counts the decisions.
	Ask       string `json:"ask,omitempty"`
	Decisions int    `json:"decisions,omitempty"`
	// Edits are the arguments that people replaced when they approved the call, the model's own first.
	Edits []ArgumentEdit `json:"edits,omitempty"`
	// ExpireTime is the deadline for a decision about the newest ask; zero means no limit.
	ExpireTime Time `json:"expireTime,omitempty"`
	// Unverified reports that the call was interrupted and is not repeated without a verdict. Repeats is the number
	// of its repetitions; the record has an intent for each.
	Unverified bool `json:"unverified,omitempty"`
	Repeats    int  `json:"repeats,omitempty"`
	// Input is set once the tool has asked for input.
	Input *ToolInput `json:"input,omitempty"`
}

func (c BatchCall) done(outcome ToolOutcome, answer string) BatchCall {
	c.State, c.Outcome, c.Answer = CallDone, outcome, c.withEditNote(answer)
	return c
}

// findCall returns the index of the call with this id in the batch, or -1 if there is none in one of the given states.
func (s State) findCall(id string, states ...CallState) int {
	return slices.IndexFunc(s.Batch, func(c BatchCall) bool { return c.ID == id && slices.Contains(states, c.State) })
}

// findUndecided returns the index of the call that waits for the decision with this id, or -1.
func (s State) findUndecided(ask string) int {
	return slices.IndexFunc(s.Batch, func(c BatchCall) bool {
		return c.State == CallUndecided && c.ApprovalID() == ask && !s.needsVerdict(c)
	})
}

func (s State) withCall(i int, c BatchCall) State {
	s.Batch = slices.Clone(s.Batch)
	s.Batch[i] = c
	return s
}

// maxCallID is the longest id that the API accepts.
const maxCallID = 128

// uniqueIDs gives every call of a reply an id that no recent call of this agent had. Some models number their calls
// from 1 in each reply; without this, a late decision about an old call could decide a new one.
func (s State) uniqueIDs(calls []ToolCall) ([]ToolCall, State) {
	unique := slices.Clone(calls)
	taken := make(map[string]bool, len(calls)) // a reply may have more calls than CallIDs holds
	isTaken := func(id string) bool { return taken[id] || s.CallIDs.has(id) }
	for i := range unique {
		id := unique[i].ID
		if id == "" || len(id) > maxCallID || isTaken(id) {
			id = fmt.Sprintf("%s-%d", s.ModelCall.ID, i+1)
		}
		for n := 1; isTaken(id); n++ {
			id = fmt.Sprintf("%s-%d.%d", s.ModelCall.ID, i+1, n)
		}
		unique[i].ID = id
		taken[id] = true
		s.CallIDs = s.CallIDs.with(id)
	}
	return unique, s
}

// forHistory returns the calls of a reply as they are stored in the history. Providers refuse a history with arguments
// that are not a JSON object, even if their own model produced them.
func forHistory(calls []ToolCall) []ToolCall {
	stored := slices.Clone(calls)
	for i, c := range stored {
		stored[i].Problem = "" // the answer to the call contains it
		switch {
		case c.Arguments == "":
			stored[i].Arguments = "{}"
		case !isObject(c.Arguments):
			stored[i].Arguments = toJSON(map[string]string{"not_an_object": c.Arguments})
		}
	}
	return stored
}

// AskedAt returns when an ask of the batch began: when the model made the call, or when the tool asked. It is zero for
// an unknown ask.
func (s State) AskedAt(ask string) Time {
	for _, c := range s.Batch {
		switch {
		case c.ID == ask, c.Ask != "" && c.Ask == ask:
			return c.At
		case c.Input != nil && c.Input.Ask == ask:
			return c.Input.At
		}
	}
	return 0
}
