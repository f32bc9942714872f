// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (r *chatRequest) validate() error {
	switch {
	case r.Model == "":
		return badRequest("model", "you must provide a model parameter")
	case len(r.Messages) == 0:
		return badRequest("messages", "[] is too short - 'messages'")
	case r.StreamOptions != nil && !r.Stream:
		return badRequest("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case r.MaxTokens != nil && r.MaxCompletionTokens != nil:
		return badRequest("max_tokens", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case r.MaxTokens != nil && *r.MaxTokens < 1:
		return badRequest("max_tokens", "%d is less than the minimum of 1 - 'max_tokens'", *r.MaxTokens)
	case r.MaxCompletionTokens != nil && *r.MaxCompletionTokens < 1:
		return badRequest("max_completion_tokens", "%d is less than the minimum of 1 - 'max_completion_tokens'", *r.MaxCompletionTokens)
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 2):
		return badRequest("temperature", "%v is not between 0 and 2 - 'temperature'", *r.Temperature)
	case len(r.ToolChoice) > 0 && len(r.Tools) == 0:
		return badRequest("tool_choice", "'tool_choice' is only allowed when 'tools' are specified.")
	}
	if err := validateTools(r.Tools); err != nil {
		return err
	}
	return validateMessages(r.Messages)
}

func validateTools(tools []chatTool) error {
	if tools != nil && len(tools) == 0 {
		return badRequest("tools", "[] is too short - 'tools'")
	}
	if len(tools) > 128 {
		return badRequest("tools", "Invalid 'tools': array too long. Expected an array with maximum length 128, but got one with length %d instead.", len(tools))
	}
	names := make(map[string]bool, len(tools))
	for i := range tools {
		t := &tools[i]
		at := fmt.Sprintf("tools[%d].function", i)
		if t.Type != "function" {
			return badRequest(fmt.Sprintf("tools[%d].type", i), "Invalid value: '%s'. Supported values are: 'function'.", t.Type)
		}
		if !toolName.MatchString(t.Function.Name) {
			return badRequest(at+".name", "Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$' of at most 64 characters, but got %q.", at, t.Function.Name)
		}
		if names[t.Function.Name] {
			return badRequest(at+".name", "Tool names must be unique, but %q occurs twice.", t.Function.Name)
		}
		names[t.Function.Name] = true
		if err := validateParameters(t.Function.Name, t.Function.Parameters); err != nil {
			return err
		}
	}
	return nil
}

func validateParameters(tool string, parameters json.RawMessage) error {
	if len(parameters) == 0 || bytes.Equal(parameters, []byte("null")) {
		return nil
	}
	var schema struct {
		Type       any             `json:"type"`
		Properties json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(parameters, &schema); err != nil {
		return badRequest("tools", "Invalid schema for function '%s': %v", tool, err)
	}
	if schema.Type != "object" {
		return badRequest("tools", "Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: %q'.", tool, fmt.Sprint(schema.Type))
	}
	if p := bytes.TrimSpace(schema.Properties); len(p) > 0 && p[0] != '{' {
		return badRequest("tools", "Invalid schema for function '%s': 'properties' must be an object.", tool)
	}
	return nil
}

// validateMessages checks each message and the pairing of calls and answers.
func validateMessages(messages []chatMessage) error {
	open := map[string]bool{} // calls of the newest assistant message that have no answer yet
	answering := false
	for i := range messages {
		m := &messages[i]
		if m.Role != "tool" {
			if len(open) > 0 {
				return unansweredCalls(i, open)
			}
			answering = false
		}
		if err := m.validate(i); err != nil {
			return err
		}
		switch m.Role {
		case "assistant":
			for _, call := range m.ToolCalls {
				if open[call.ID] {
					return badRequest(at(i, "tool_calls"), "Duplicate value for 'tool_call_id' of '%s'", call.ID)
				}
				open[call.ID] = true
			}
			answering = len(open) > 0
		case "tool":
			if !answering {
				return badRequest(at(i, "role"), "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
			}
			if !open[m.ToolCallID] {
				return badRequest(at(i, "tool_call_id"), "Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message.", m.ToolCallID)
			}
			delete(open, m.ToolCallID)
		}
	}
	if len(open) > 0 {
		return unansweredCalls(len(messages), open)
	}
	return nil
}

func (m *chatMessage) validate(i int) error {
	hasContent := m.Content.text != "" || len(m.Content.parts) > 0
	switch m.Role {
	case "system", "developer", "user":
		if !hasContent {
			return badRequest(at(i, "content"), "Invalid value for 'content': expected a non-empty string, got %s.", m.Content.kind())
		}
	case "tool":
		if m.ToolCallID == "" {
			return badRequest(at(i, "tool_call_id"), "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.")
		}
		if !m.Content.set {
			return badRequest(at(i, "content"), "Invalid value for 'content': expected a string, got null.")
		}
	case "assistant":
		if !hasContent && len(m.ToolCalls) == 0 && (m.Refusal == nil || *m.Refusal == "") {
			return badRequest(at(i, "content"), "Invalid value for 'content': expected a string, got %s. It may be null only with 'tool_calls'.", m.Content.kind())
		}
	default:
		return badRequest(at(i, "role"), "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'tool', and 'developer'.", m.Role)
	}
	if m.Role != "assistant" && len(m.ToolCalls) > 0 {
		return badRequest(at(i, "tool_calls"), "'tool_calls' is only allowed in messages with role 'assistant'.")
	}
	if m.Role != "user" {
		for _, kind := range m.Content.parts {
			if kind != "text" && kind != "refusal" {
				return badRequest(at(i, "content"), "Invalid content type. %s is only allowed in messages with role 'user'.", kind)
			}
		}
	}
	for _, url := range m.Content.images {
		if !usableImage(url) {
			return badRequest(at(i, "content"), "Invalid image_url: expected an address, or 'data:image/png;base64,...' of a PNG, JPEG, GIF or WebP image.")
		}
	}
	return m.validateCalls(i)
}

// usableImage reports whether a model could process an image.
func usableImage(url string) bool {
	if strings.HasPrefix(url, "https://") {
		return true
	}
	mediaType, data, ok := parseDataURL(url)
	decoded, err := base64.StdEncoding.DecodeString(data)
	return ok && err == nil && len(decoded) > 0 && slices.Contains(imageTypes(), mediaType)
}

func (m *chatMessage) validateCalls(i int) error {
	for j, call := range m.ToolCalls {
		field := fmt.Sprintf("tool_calls[%d]", j)
		switch {
		case call.ID == "":
			return badRequest(at(i, field+".id"), "Invalid '%s.id': empty string.", at(i, field))
		case call.Type != "function":
			return badRequest(at(i, field+".type"), "Invalid value: '%s'. Supported values are: 'function'.", call.Type)
		case !toolName.MatchString(call.Function.Name):
			return badRequest(at(i, field+".function.name"), "Invalid '%s.function.name': %q does not match the pattern '^[a-zA-Z0-9_-]+$' of at most 64 characters.", at(i, field), call.Function.Name)
		case !json.Valid([]byte(call.Function.Arguments)):
			// The API itself accepts any text here, but servers that fill chat templates reject it.
			return badRequest(at(i, field+".function.arguments"), "Invalid '%s.function.arguments': not JSON.", at(i, field))
		}
	}
	return nil
}

func unansweredCalls(i int, open map[string]bool) error {
	ids := slices.Sorted(maps.Keys(open))
	return badRequest(at(i, "role"), "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(ids, ", "))
}

func at(i int, field string) string { return fmt.Sprintf("messages[%d].%s", i, field) }

func (c content) kind() string {
	if !c.set {
		return "null"
	}
	return "an empty one"
}
