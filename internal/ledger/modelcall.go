// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/json"
	"time"
)

// KeySeparator separates the parts of a call's key. The first part is the UID of its agent.
const KeySeparator = "/"

// ModelCall is one model call. Its fields are the intent, written before the request is sent; Result is nil until the call has
// ended.
type ModelCall struct {
	// Key is the idempotency key of the call, unique in the ledger.
	Key string
	// Parent is the key of the model call that started the agent of this one; empty for the root of a tree.
	Parent string
	Seq    int64
	// Iteration counts the calls of the agent from 1.
	Iteration int
	Provider  string
	Model     string
	// RequestType is the purpose of the call: a prompt, the continuation after tools, a delegation, a summary.
	RequestType string
	// SystemPrompt identifies the role's system prompt.
	SystemPrompt string
	// ContextMode is the context mode of a sub-agent; empty for an orchestrator. ContextTokens is the approximate size of the
	// request.
	ContextMode   string
	ContextTokens *int64
	Files         []string
	// Request is the request in the form that is the same for all APIs, for Provider and Model of the intent; Result.Sent describes what
	// was sent. In a batch with Place above 0 it is the Edit of the previous request in the chain.
	Request json.RawMessage
	// Chain is the Seq of the first call of the request's chain, and Place the position in it; the first request of a chain is
	// complete. Both are 0 for a request without a chain.
	Chain int64
	Place int
	// MaxIterations and MaxDuration are the agent's limits; 0 means none.
	MaxIterations int
	MaxDuration   time.Duration
	StartedAt     time.Time

	// The following fields are copied from the agent's record when the intent is written.
	Agent        string
	Namespace    string
	NamespaceUID string
	Root         string
	Chat         string
	Role         string
	Depth        int
	// PrunedAt is when the request and the response were deleted because of their age, or zero.
	PrunedAt time.Time

	Result *ModelResult
}

type ModelResult struct {
	Key    string
	Status Status
	// Provider and Model are the ones that served the call, possibly a fallback; empty if they are those of the intent. They
	// replace Provider and Model of the call.
	Provider string
	Model    string
	// Sent is JSON that describes what was sent to that provider: the digest of the HTTP body and the parameters; nil if nothing was.
	Sent json.RawMessage
	// Response is the reply in the form that is the same for all APIs; nil if there was none.
	Response json.RawMessage
	// Summary is the beginning of the reply, for the parent.
	Summary string
	// ToolCalls is a JSON list of the tool calls in the reply; nil if there are none.
	ToolCalls json.RawMessage
	// Usage that the provider did not report is nil: unknown is not zero. CachedTokens is a part of PromptTokens, and ReasoningTokens one of
	// CompletionTokens.
	PromptTokens     *int64
	CachedTokens     *int64
	CompletionTokens *int64
	ReasoningTokens  *int64
	// CostMicros is the cost in millionths of the currency; nil if no price is known.
	CostMicros *int64
	// Currency is that of CostMicros.
	Currency string
	// Bailout is the limit that stopped the call, that its reply reached, or that made it the agent's last call.
	Bailout    string
	Error      string
	FinishedAt time.Time
}

// CallFilter selects model calls; the zero value matches all of them.
type CallFilter struct {
	Scope
	// Agent is the UID of an agent, Parent the key of the model call that started the agents.
	Agent  string
	Parent string
	Status Status
}
