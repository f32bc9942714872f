// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import "strings"

type FinishReason string

// Values of FinishReason. Other values of providers are kept as they are.
const (
	FinishStop          FinishReason = "stop"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishLength        FinishReason = "length"
	FinishContentFilter FinishReason = "content_filter"
)

// Reply is the complete reply to a Request. Like Request it is plain data with a stable JSON form.
type Reply struct {
	// ID and Model are reported by the provider, for support requests; they may be empty.
	ID    string `json:"id,omitempty"`
	Model string `json:"model,omitempty"`

	Text string `json:"text,omitempty"`
	// Reasoning is the text of the reasoning that some providers return. It is for people and is not sent back to the
	// model; ReasoningItems are.
	Reasoning      string          `json:"reasoning,omitempty"`
	ReasoningItems []ReasoningItem `json:"reasoningItems,omitempty"`
	Refusal        string          `json:"refusal,omitempty"`
	// ToolCalls have IDs that are unique in the reply and the request's history, whatever the provider sent.
	ToolCalls    []ToolCall   `json:"toolCalls,omitempty"`
	FinishReason FinishReason `json:"finishReason,omitempty"`
	// Usage is nil if the provider did not report it. Unknown is not zero.
	Usage *Usage `json:"usage,omitempty"`
}

type ToolCall struct {
	ID string `json:"id"`
	// Name is as the model wrote it; the tool may not exist.
	Name string `json:"name"`
	// Arguments is a JSON object unless ArgumentsError is set; then it is the original text.
	Arguments string `json:"arguments"`
	// ArgumentsError describes what is wrong with Arguments, for the model. Such a call must not run.
	ArgumentsError string `json:"argumentsError,omitempty"`
}

type Usage struct {
	// PromptTokens includes CachedTokens, which were read from the provider's cache, and CacheWriteTokens, which were
	// written to it at a price of their own.
	PromptTokens     int64 `json:"promptTokens"`
	CachedTokens     int64 `json:"cachedTokens,omitempty"`
	CacheWriteTokens int64 `json:"cacheWriteTokens,omitempty"`
	// CompletionTokens includes ReasoningTokens.
	CompletionTokens int64 `json:"completionTokens"`
	ReasoningTokens  int64 `json:"reasoningTokens,omitempty"`
	TotalTokens      int64 `json:"totalTokens"`
}

type Outcome string

// The outcomes of a call that did not fail.
const (
	// OutcomeAnswer is text without tool calls.
	OutcomeAnswer Outcome = "Answer"
	// OutcomeToolCalls is one or more tool calls, with or without text; some may have an ArgumentsError.
	OutcomeToolCalls Outcome = "ToolCalls"
	// OutcomeTruncated is an answer that ended at the output limit.
	OutcomeTruncated Outcome = "Truncated"
	// OutcomeRefused is a refusal by the model, in Refusal.
	OutcomeRefused Outcome = "Refused"
	// OutcomeFiltered is a reply that the provider's content filter stopped.
	OutcomeFiltered Outcome = "Filtered"
	OutcomeEmpty    Outcome = "Empty"
)

// Outcome classifies the reply. Tool calls take precedence over the finish reason, because providers differ in it; a
// filter and a refusal take precedence over everything, because the rest of such a reply must not be used.
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

// Message returns the reply as a message for the history of the next request.
func (r Reply) Message() Message {
	return Message{Role: RoleAssistant, Text: r.Text, ToolCalls: r.ToolCalls, Refusal: r.Refusal, ReasoningItems: r.ReasoningItems}
}

// Delta is a part of a streamed reply, for the live view. Deltas are not recorded; the Reply is.
type Delta struct {
	Text      string         `json:"text,omitempty"`
	Reasoning string         `json:"reasoning,omitempty"`
	Refusal   string         `json:"refusal,omitempty"`
	ToolCall  *ToolCallDelta `json:"toolCall,omitempty"`
}

// ToolCallDelta is a part of a tool call. Index counts the calls of the reply; the name is in the first part.
type ToolCallDelta struct {
	Index     int    `json:"index"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}
