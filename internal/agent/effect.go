// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "encoding/json"

// Effect is something that a driver must see to. Effects are level-triggered: Outstanding lists all that must be in
// flight, Step returns what has been added, and two effects with the same key are the same effect.
type Effect interface {
	// Key is unique for the agent and the same after every restart: the idempotency key.
	Key() string
	String() string
}

// CallModel asks the model for its next reply; BuildPrompt says what to send. The answer is ModelReplied or ModelFailed.
type CallModel struct {
	Call    string  `json:"call"`
	Attempt int     `json:"attempt"`
	Purpose Purpose `json:"purpose"`
	// Reserve is what the call may use at most, to be reserved from the budget of the whole tree.
	Reserve Amount `json:"reserve,omitzero"`
}

// RunTool runs a plain tool. The answer is ToolFinished.
type RunTool struct {
	Call string `json:"call"`
	// Request is the model call that asked for it. Ids of calls may repeat in a long life; together the two do not.
	Request string `json:"request,omitempty"`
	// Attempt is the try of that model call that was answered.
	Attempt   int             `json:"attempt,omitempty"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// StartChild makes sure that a child exists. Its end is ChildFinished.
type StartChild struct {
	Child ChildSpec `json:"child"`
}

// CancelChild makes sure that a child stops. Its end is ChildFinished all the same.
type CancelChild struct {
	Child string `json:"child"`
}

// AskPerson makes sure that a question or a call that needs a decision is seen. The answer is Answered or Decided.
type AskPerson struct {
	Call      string  `json:"call"`
	Kind      AskKind `json:"kind"`
	Text      string  `json:"text,omitempty"`
	Tool      string  `json:"tool,omitempty"`
	Arguments string  `json:"arguments,omitempty"`
	// Separation says that somebody must decide who did not ask for the work.
	Separation bool `json:"separation,omitempty"`
}

// Deliver takes something out of the outbox to where it belongs. The answer is Delivered.
type Deliver struct {
	Item Item `json:"item"`
}

// TellParent hands the outcome to the one who asked. It stays outstanding: the outcome is the agent's last word.
type TellParent struct {
	Outcome Outcome `json:"outcome"`
}

// WakeAt asks for a Woke event at a moment.
type WakeAt struct {
	At Time `json:"at"`
}

// ItemKind is what an item of the outbox is.
type ItemKind string

// What an item of the outbox is.
const (
	// ItemPost is a message for the main chat.
	ItemPost ItemKind = "Post"
	// ItemReply is the answer to an agent's question.
	ItemReply ItemKind = "Reply"
	// ItemHandled says that a message was taken into a turn, or did what it says.
	ItemHandled ItemKind = "Handled"
)

// Item is something that an orchestrator sends. It stays in the outbox until it has been delivered.
type Item struct {
	ID   string   `json:"id"`
	Kind ItemKind `json:"kind"`
	Text string   `json:"text,omitempty"`
	// System marks a post as the operator's own, not the assistant's.
	System bool `json:"system,omitempty"`
	// About is the task that a post is about, InReplyTo the message that it answers.
	About     string `json:"about,omitempty"`
	InReplyTo string `json:"inReplyTo,omitempty"`
	// Agent, its UID and Call are whom a reply is for.
	Agent string `json:"agent,omitempty"`
	UID   string `json:"uid,omitempty"`
	Call  string `json:"call,omitempty"`
	// Name is the name of a post whose usual name is taken; see PostName.
	Name string `json:"name,omitempty"`
	// Digest is the CallDigest of the call that a post asks to approve.
	Digest string `json:"digest,omitempty"`
	// Message is the message that was handled.
	Message string `json:"message,omitempty"`
}
