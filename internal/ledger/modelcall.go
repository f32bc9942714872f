// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/json"
	"time"
)

// ModelCall is one request to a model. Its fields are the intent, written before the request is sent; Result is nil
// until the call has ended.
type ModelCall struct {
	// Key is the idempotency key of the call, unique in the ledger.
	Key string
	// Parent is the key of the model call that asked for the agent of this one; empty at the top of a tree.
	Parent string
	// Seq is the event that caused the call.
	Seq int64
	// Iteration counts the calls of the agent from 1.
	Iteration int
	Provider  string
	Model     string
	// RequestType says what the call is for: a prompt, the continuation after tools, a delegation, a summary.
	RequestType string
	// SystemPrompt identifies the prompt that the role gave.
	SystemPrompt string
	// ContextMode is what of its parent's context the agent sees; empty for an orchestrator. ContextTokens is about how much the
	// request carries.
	ContextMode   string
	ContextTokens *int64
	// Files are the context files that the agent was given.
	Files []string
	// Request is the body that was sent, byte for byte. In a batch it is the Edit that makes it of the request before it in the chain, if
	// Place is above 0.
	Request json.RawMessage
	// Chain is the Seq of the first call of the chain that the request belongs to, and Place its place there; the first request of a
	// chain is whole. Both are 0 for a request that stands alone.
	Chain int64
	Place int
	// MaxIterations and MaxDuration are the limits that held; 0 means none.
	MaxIterations int
	MaxDuration   time.Duration
	StartedAt     time.Time

	// Agent, Namespace, NamespaceUID, Root, Chat, Role and Depth come from the agent's record when the intent is written.
	Agent        string
	Namespace    string
	NamespaceUID string
	Root         string
	Chat         string
	Role         string
	Depth        int
	// PrunedAt is when the request and the response were deleted because of their age; zero if they are there.
	PrunedAt time.Time

	Result *ModelResult
}

// ModelResult is how a model call ended.
type ModelResult struct {
	Key    string
	Status Status
	// Provider and Model are what served the call in the end, a fallback perhaps; empty if they are those of the intent. They
	// become Provider and Model of the call.
	Provider string
	Model    string
	// Response is the body of the reply; nil when there was none.
	Response json.RawMessage
	// Summary is the reply in short, for the parent.
	Summary string
	// ToolCalls is the JSON list of the tool calls that the model asked for; nil when it asked for none.
	ToolCalls json.RawMessage
	// Usage is nil where the provider did not say: unknown is not zero. CachedTokens is a part of PromptTokens.
	PromptTokens     *int64
	CachedTokens     *int64
	CompletionTokens *int64
	// CostMicros is the price in millionths of the currency; nil when no price is known.
	CostMicros *int64
	// Bailout is the limit of the agent that stopped the call, that its reply reached, or that made it the last one.
	Bailout string
	Error   string
	// FinishedAt ends the call.
	FinishedAt time.Time
}

// CallFilter chooses model calls; the zero value allows all of them.
type CallFilter struct {
	Scope
	// Agent is the UID of one agent, Parent the key of the model call that asked for the agents.
	Agent  string
	Parent string
	Status Status
}
