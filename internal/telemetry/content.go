// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"encoding/json"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/model"
)

// message and part are the JSON of conversations in the conventions.
type message struct {
	Role         string `json:"role"`
	Parts        []part `json:"parts"`
	FinishReason string `json:"finish_reason,omitempty"`
}

type part struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  string          `json:"response,omitempty"`
}

// contentAttributes returns the content of a model call, without images. Requests contain no API keys.
func contentAttributes(call engine.CompletedCall) []attribute.KeyValue {
	var system []part
	var input []message
	for _, m := range call.Request.Messages {
		switch m.Role {
		case model.RoleSystem:
			system = append(system, part{Type: "text", Content: m.Text})
		case model.RoleTool:
			input = append(input, message{Role: "tool", Parts: []part{{Type: "tool_call_response", ID: m.ToolCallID, Response: m.Text}}})
		default:
			input = append(input, message{Role: string(m.Role), Parts: messageParts(m.Text, m.ToolCalls)})
		}
	}
	attributes := []attribute.KeyValue{encoded(semconv.GenAIInputMessagesKey, input)}
	if len(system) > 0 {
		attributes = append(attributes, encoded(semconv.GenAISystemInstructionsKey, system))
	}
	if reply := call.Reply; reply != nil {
		output := message{Role: "assistant", Parts: messageParts(reply.Text, reply.ToolCalls), FinishReason: string(reply.FinishReason)}
		attributes = append(attributes, encoded(semconv.GenAIOutputMessagesKey, []message{output}))
	}
	return attributes
}

// messageParts returns the parts of a message: text, calls, or both.
func messageParts(text string, calls []model.ToolCall) []part {
	parts := []part{}
	if text != "" {
		parts = append(parts, part{Type: "text", Content: text})
	}
	for _, c := range calls {
		call := part{Type: "tool_call", ID: c.ID, Name: c.Name, Arguments: json.RawMessage(c.Arguments)}
		if !json.Valid(call.Arguments) {
			call.Arguments, _ = json.Marshal(c.Arguments) // encoding a string cannot fail
		}
		parts = append(parts, call)
	}
	return parts
}

// encoded returns plain data as a JSON attribute; encoding cannot fail.
func encoded(key attribute.Key, value any) attribute.KeyValue {
	data, _ := json.Marshal(value)
	return key.String(string(data))
}
