// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import "encoding/json"

type MessageRole string

const (
	RoleSystem    MessageRole = "system"
	RoleUser      MessageRole = "user"
	RoleAssistant MessageRole = "assistant"
	RoleTool      MessageRole = "tool"
)

// Request is one model call. It is plain data with a stable JSON form: the ledger stores it, and the same bytes
// repeat the same call. Images are referenced by digest; the ledger stores each once.
type Request struct {
	Model    string    `json:"model"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools,omitempty"`
	// ToolChoice is "auto", "none" or "required"; empty means the provider's default.
	ToolChoice string `json:"toolChoice,omitempty"`
	// Temperature is nil for the provider's default: some models reject any value.
	Temperature *float64 `json:"temperature,omitempty"`
	// MaxOutputTokens bounds the reply; 0 means the provider's default.
	MaxOutputTokens int64 `json:"maxOutputTokens,omitempty"`
	// ReasoningEffort is how much the model should think before it answers; empty means the provider's default.
	ReasoningEffort ReasoningEffort `json:"reasoningEffort,omitempty"`
	// TextOnly means that the model does not accept images and gets notes instead.
	TextOnly bool `json:"textOnly,omitempty"`
	// IdempotencyKey is sent as the Idempotency-Key header, for gateways that answer a repeated call from their
	// cache.
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
	// Conversation identifies the agent, and Call the model call, whatever the attempt. They are not part of the JSON
	// form.
	Conversation string `json:"-"`
	Call         string `json:"-"`
}

// Message is one entry of a conversation.
type Message struct {
	Role MessageRole `json:"role"`
	Text string      `json:"text,omitempty"`
	// Images belong to user and tool messages.
	Images []Image `json:"images,omitempty"`
	// ToolCalls belong to assistant messages; each requires a tool message with its ID before the next other message.
	ToolCalls []ToolCall `json:"toolCalls,omitempty"`
	// ToolCallID belongs to tool messages: the call that they answer.
	ToolCallID string `json:"toolCallID,omitempty"`
	// Refusal belongs to assistant messages in which the model refused.
	Refusal string `json:"refusal,omitempty"`
	// ReasoningItems belong to assistant messages. An API gets back only the items that it returned for the same model.
	ReasoningItems []ReasoningItem `json:"reasoningItems,omitempty"`
}

type ReasoningEffort string

const (
	EffortNone   ReasoningEffort = "None"
	EffortLow    ReasoningEffort = "Low"
	EffortMedium ReasoningEffort = "Medium"
	EffortHigh   ReasoningEffort = "High"
)

// ReasoningItem is a part of a model's reasoning that its API requires back in tool loops, such as a signed or
// encrypted block. Nothing but the API's own package reads Data.
type ReasoningItem struct {
	API   API    `json:"api"`
	Model string `json:"model"`
	// Call is the ID of the tool call that the item belongs to; empty if it belongs to the whole reply.
	Call string `json:"call,omitempty"`
	// Data is the item in the API's form, sent back as it came.
	Data json.RawMessage `json:"data"`
}

type Image struct {
	// MediaType is for example image/png.
	MediaType string `json:"mediaType"`
	// Digest identifies the content, Size counts its bytes.
	Digest string `json:"digest,omitempty"`
	Size   int64  `json:"size,omitempty"`
	// Data is the content. It is not part of the JSON form, and nil for an image that was pruned.
	Data []byte `json:"-"`
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is the JSON schema of the arguments, an object; absent for a tool without arguments.
	Parameters json.RawMessage `json:"parameters,omitempty"`
}
