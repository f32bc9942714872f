// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import "strings"

// FinishReason says why the model stopped.
type FinishReason string

// The reasons to stop. A word that the provider made up is kept as it came.
const (
	FinishStop          FinishReason = "stop"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishLength        FinishReason = "length"
	FinishContentFilter FinishReason = "content_filter"
)

// Reply is the whole answer to a Request. Like Request it is plain data with a stable JSON form.
type Reply struct {
	// ID and Model are what the provider says of itself, for support requests; they may be empty.
	ID    string `json:"id,omitempty"`
	Model string `json:"model,omitempty"`

	Text string `json:"text,omitempty"`
	// Reasoning is the thinking that some providers show. It is for people: it is not sent back to the model.
	Reasoning string `json:"reasoning,omitempty"`
	Refusal   string `json:"refusal,omitempty"`
	// ToolCalls have unique ids, also against the request's history, whatever the provider sent.
	ToolCalls    []ToolCall   `json:"toolCalls,omitempty"`
	FinishReason FinishReason `json:"finishReason,omitempty"`
	// Usage is nil when the provider did not say. Unknown is not zero.
	Usage *Usage `json:"usage,omitempty"`
}

// ToolCall is a call that the model wants made.
type ToolCall struct {
	ID string `json:"id"`
	// Name is as the model wrote it; it may be a tool that does not exist.
	Name string `json:"name"`
	// Arguments is a JSON object, unless ArgumentsError says otherwise: then it is the text as it came.
	Arguments string `json:"arguments"`
	// ArgumentsError says what is wrong with Arguments, in words that the model can act on. Such a call must not run.
	ArgumentsError string `json:"argumentsError,omitempty"`
}

// Usage counts the tokens of one call.
type Usage struct {
	// PromptTokens includes CachedTokens.
	PromptTokens int64 `json:"promptTokens"`
	CachedTokens int64 `json:"cachedTokens,omitempty"`
	// CompletionTokens includes ReasoningTokens.
	CompletionTokens int64 `json:"completionTokens"`
	ReasoningTokens  int64 `json:"reasoningTokens,omitempty"`
	TotalTokens      int64 `json:"totalTokens"`
}

// Outcome is what a reply amounts to: the one thing that the caller branches on.
type Outcome string

// The outcomes of a call that did not fail.
const (
	// OutcomeAnswer is a text without tool calls.
	OutcomeAnswer Outcome = "Answer"
	// OutcomeToolCalls is one or more tool calls, with or without text; some may have an ArgumentsError.
	OutcomeToolCalls Outcome = "ToolCalls"
	// OutcomeTruncated is an answer that ended at the output limit.
	OutcomeTruncated Outcome = "Truncated"
	// OutcomeRefused is a refusal by the model, in Refusal.
	OutcomeRefused Outcome = "Refused"
	// OutcomeFiltered is a reply that the provider's content filter stopped.
	OutcomeFiltered Outcome = "Filtered"
	// OutcomeEmpty is a reply with nothing in it.
	OutcomeEmpty Outcome = "Empty"
)

// Outcome sorts the reply. Tool calls win over the finish reason, because providers differ in the reason they give
// for them; a filter and a refusal win over everything, because what came with them is not to be acted on.
func (r Reply) Outcome() Outcome {
	switch {
	case r.FinishReason == FinishContentFilter:
		return OutcomeFiltered
	case r.Refusal != "":
		return OutcomeRefused
	case len(r.ToolCalls) > 0:
		return OutcomeToolCalls
	case r.FinishReason == FinishLength:
		return OutcomeTruncated
	case strings.TrimSpace(r.Text) == "":
		return OutcomeEmpty
	}
	return OutcomeAnswer
}

// Message is the reply as a message of the next request's history.
func (r Reply) Message() Message {
	return Message{Role: RoleAssistant, Text: r.Text, ToolCalls: r.ToolCalls, Refusal: r.Refusal}
}

// Delta is a piece of a reply while it streams in, for the live view. Pieces are not a record: the whole is the Reply.
type Delta struct {
	Text      string         `json:"text,omitempty"`
	Reasoning string         `json:"reasoning,omitempty"`
	Refusal   string         `json:"refusal,omitempty"`
	ToolCall  *ToolCallDelta `json:"toolCall,omitempty"`
}

// ToolCallDelta is a piece of a tool call. Index counts the calls of the reply; the name comes with the first piece.
type ToolCallDelta struct {
	Index     int    `json:"index"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}
