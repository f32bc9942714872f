// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import "encoding/json"

// MessageRole says who wrote a message.
type MessageRole string

// The roles of messages in a request.
const (
	RoleSystem    MessageRole = "system"
	RoleUser      MessageRole = "user"
	RoleAssistant MessageRole = "assistant"
	RoleTool      MessageRole = "tool"
)

// Request is one call of a model. It is plain data with a stable JSON form: the ledger stores it whole, and the same
// bytes give the same call again. Of an image it has the digest; the ledger has the image itself, once.
type Request struct {
	// Model is the name that the provider knows.
	Model    string    `json:"model"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools,omitempty"`
	// ToolChoice is "auto", "none" or "required"; empty leaves it to the provider.
	ToolChoice string `json:"toolChoice,omitempty"`
	// Temperature is absent to leave it to the provider: some models refuse any value.
	Temperature *float64 `json:"temperature,omitempty"`
	// MaxOutputTokens bounds the reply; 0 leaves it to the provider.
	MaxOutputTokens int64 `json:"maxOutputTokens,omitempty"`
	// TextOnly says that the model takes no images: it reads what they were.
	TextOnly bool `json:"textOnly,omitempty"`
	// IdempotencyKey is sent as the Idempotency-Key header, for gateways that answer a repeated call from their cache.
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
}

// Message is one entry of the conversation that a model sees.
type Message struct {
	Role MessageRole `json:"role"`
	Text string      `json:"text,omitempty"`
	// Images belong to user and tool messages.
	Images []Image `json:"images,omitempty"`
	// ToolCalls belong to assistant messages; each wants one tool message with its id before the next other message.
	ToolCalls []ToolCall `json:"toolCalls,omitempty"`
	// ToolCallID belongs to tool messages: the call that is answered.
	ToolCallID string `json:"toolCallID,omitempty"`
	// Refusal belongs to assistant messages in which the model refused.
	Refusal string `json:"refusal,omitempty"`
}

// Image is a picture in a message.
type Image struct {
	// MediaType is for example image/png.
	MediaType string `json:"mediaType"`
	// Digest identifies the content, Size counts its bytes.
	Digest string `json:"digest,omitempty"`
	Size   int64  `json:"size,omitempty"`
	// Data is the content. It is not part of the JSON form, and nil for an image that is not kept any more.
	Data []byte `json:"-"`
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is the JSON schema of the arguments, an object; absent for a tool without arguments.
	Parameters json.RawMessage `json:"parameters,omitempty"`
}
