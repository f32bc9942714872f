// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"

	"github.com/nestor-dev/nestor/internal/agent/budget"
)

// Effect is something that the driver must do. Effects are level-triggered: Outstanding lists all that must be in flight, Step
// returns those that were added, and two effects with the same key are the same effect.
type Effect interface {
	// Key returns the idempotency key: unique for the agent, and the same after every restart.
	Key() string
	String() string
}

// CallModel requests the model's next reply to BuildPrompt. It ends with ModelReplied or ModelFailed.
type CallModel struct {
	Call    string        `json:"call"`
	Attempt int           `json:"attempt"`
	Purpose Purpose       `json:"purpose"`
	Reserve budget.Amount `json:"reserve,omitzero"`
}

// RunTool runs a plain tool. It ends with ToolFinished, or with ToolAsked.
type RunTool struct {
	Call string `json:"call"`
	// ModelCall is the model call whose reply contains the tool call. Tool call ids may repeat in a long history; the pair does
	// not.
	ModelCall string `json:"modelCall,omitempty"`
	// Attempt is the attempt of that model call that got the reply.
	Attempt   int             `json:"attempt,omitempty"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Round is how often the tool ran before and ended with a question; Input is then its state and the answer.
	Round int         `json:"round,omitempty"`
	Input *RoundInput `json:"input,omitempty"`
	// Repeat is how often the call was interrupted, closed and permitted again.
	Repeat int `json:"repeat,omitempty"`
}

// StartChild ensures that a child exists. It ends with ChildFinished.
type StartChild struct {
	Child ChildSpec `json:"child"`
}

// CancelChild ensures that a child stops. It ends with ChildFinished too.
type CancelChild struct {
	Child string `json:"child"`
}

// CancelRemote ensures that the remote agent stops the work of this agent. It ends with RemoteCancelled.
type CancelRemote struct{}

// AskPerson publishes a question or an approval. It ends with Answered or Decided.
type AskPerson struct {
	Call      string  `json:"call"`
	Kind      AskKind `json:"kind"`
	Text      string  `json:"text,omitempty"`
	Tool      string  `json:"tool,omitempty"`
	Arguments string  `json:"arguments,omitempty"`
	// DenyRequesters reports whether the decisions of people who requested the work are rejected.
	DenyRequesters bool `json:"denyRequesters,omitempty"`
	// AllowServiceAccounts accepts the decision of a service account under DenyRequesters.
	AllowServiceAccounts bool `json:"allowServiceAccounts,omitempty"`
	// OfTool reports that a tool server asks. Only a person may answer it.
	OfTool bool `json:"ofTool,omitempty"`
	// ExpireTime is until when people can decide, and Timeout how long they could; zero means no limit.
	ExpireTime Time   `json:"expireTime,omitempty"`
	Timeout    Millis `json:"timeout,omitempty"`
	// Editable reports that a person may approve the call with edited arguments.
	Editable bool `json:"editable,omitempty"`
	// Policy contains the rules of policies that require the approval; nil if there are none.
	Policy *CallVerdict `json:"policy,omitempty"`
}

// SendItem sends an item of the outbox. It ends with ItemSent.
type SendItem struct {
	Item Item `json:"item"`
}

// ReportOutcome reports the outcome to the parent. It stays outstanding after the end of the agent.
type ReportOutcome struct {
	Outcome Outcome `json:"outcome"`
}

// WakeAt requests a Woke event at a time.
type WakeAt struct {
	At Time `json:"time"`
}

type ItemKind string

// The kinds of items.
const (
	// ItemPost is a message for the chat.
	ItemPost ItemKind = "Post"
	// ItemReply is the answer to an agent's question.
	ItemReply ItemKind = "Reply"
	// ItemDecision is the approval of an agent's call by an allowance.
	ItemDecision ItemKind = "Decision"
	// ItemHandled confirms that a message became part of a turn, or took effect in another way.
	ItemHandled ItemKind = "Handled"
)

// Item is a message in an orchestrator's outbox. It stays there until it was sent.
// Notice is a state of a chat that a post shows.
type Notice string

// The notices, named as the states of notifications in the API.
const (
	NoticeWaiting  Notice = "Waiting"
	NoticeFinished Notice = "Finished"
	NoticeFailed   Notice = "Failed"
)

type Item struct {
	ID   string   `json:"id"`
	Kind ItemKind `json:"kind"`
	Text string   `json:"text,omitempty"`
	// System marks a post as written by the operator instead of the assistant.
	System bool `json:"system,omitempty"`
	// Task is the task that a post is about, InReplyTo the message that it answers.
	Task      string `json:"task,omitempty"`
	InReplyTo string `json:"inReplyTo,omitempty"`
	// Agent, UID and Call identify the recipient of a reply or decision.
	Agent string `json:"agent,omitempty"`
	UID   string `json:"uid,omitempty"`
	Call  string `json:"call,omitempty"`
	// Images are part of a reply.
	Images []Image `json:"images,omitempty"`
	// Name is the name of a post whose usual name was taken; see PostName.
	Name string `json:"name,omitempty"`
	// Digest is the CallDigest of the call that a post asks to approve or a decision approves.
	Digest string `json:"digest,omitempty"`
	// Message is the message that was handled, or that contains the decision.
	Message string `json:"message,omitempty"`
	// Continues reports that the text of a post continues that of the post before it.
	Continues bool `json:"continues,omitempty"`
	// Stopped marks a post as the beginning of a reply that a person stopped.
	Stopped bool `json:"stopped,omitempty"`
	// Truncated marks a post as a reply that the limit of output tokens cut off.
	Truncated bool `json:"truncated,omitempty"`
	// Notice is the state that receivers of notifications are notified of: a question or approval waits, or the turn
	// has ended.
	Notice Notice `json:"notice,omitempty"`
	// Tool and DenyRequesters describe the call that a post asks to approve.
	Tool           string `json:"tool,omitempty"`
	DenyRequesters bool   `json:"denyRequesters,omitempty"`
	// User is the person who decided or answered, and Allowance the name of the allowance that approves the call.
	User      string `json:"user,omitempty"`
	Allowance string `json:"allowance,omitempty"`
	// Labels are the content labels of a reply.
	Labels []string `json:"labels,omitempty"`
}
