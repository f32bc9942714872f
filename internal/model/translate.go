// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// sentRequest is a request as it is sent. The SDK's own types would do the same at ten times the cost, most of it for taking
// the schemas of tools apart and putting them together again.
type sentRequest struct {
	Model               string         `json:"model"`
	Messages            []sentMessage  `json:"messages"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	MaxTokens           int64          `json:"max_tokens,omitempty"`
	MaxCompletionTokens int64          `json:"max_completion_tokens,omitempty"`
	ToolChoice          string         `json:"tool_choice,omitempty"`
	Tools               []sentTool     `json:"tools,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type sentTool struct {
	Type     string       `json:"type"`
	Function sentFunction `json:"function"`
}

type sentFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// sentMessage has a text, or parts, as its content; an assistant that only calls tools has none.
type sentMessage struct {
	Role       MessageRole `json:"role"`
	Content    any         `json:"content,omitempty"`
	Refusal    string      `json:"refusal,omitempty"`
	ToolCalls  []sentCall  `json:"tool_calls,omitempty"`
	ToolCallID string      `json:"tool_call_id,omitempty"`
}

type sentCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// sentPart is a part of a message: text, or an image.
type sentPart struct {
	Type     string     `json:"type"`
	Text     string     `json:"text,omitempty"`
	ImageURL *sentImage `json:"image_url,omitempty"`
}

type sentImage struct {
	URL string `json:"url"`
}

// translate turns a request into the body of the API's.
func translate(req Request, spoken dialect) ([]byte, error) {
	body := sentRequest{Model: req.Model, Messages: translateMessages(req), Stream: true, Temperature: req.Temperature, ToolChoice: req.ToolChoice}
	if !spoken.noStreamOptions {
		body.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	switch {
	case req.MaxOutputTokens <= 0:
	case spoken.completionLimit:
		body.MaxCompletionTokens = req.MaxOutputTokens
	default:
		body.MaxTokens = req.MaxOutputTokens
	}
	for _, t := range req.Tools {
		if len(t.Parameters) > 0 && t.Parameters[0] != '{' {
			return nil, noSchema(t)
		}
		body.Tools = append(body.Tools, sentTool{Type: "function", Function: sentFunction(t)})
	}
	encoded, err := json.Marshal(body)
	for i := 0; err != nil && i < len(req.Tools); i++ { // encoding has looked at all schemas, but does not say whose it was
		if t := req.Tools[i]; len(t.Parameters) > 0 && !json.Valid(t.Parameters) {
			return nil, noSchema(t)
		}
	}
	return encoded, err
}

func noSchema(t Tool) error { return fmt.Errorf("the schema of tool %s is not a JSON object", t.Name) }

func translateMessages(req Request) []sentMessage {
	messages := req.Messages
	out := make([]sentMessage, 0, len(messages))
	var shown []sentPart // images of tool results that are still to be shown
	for i, m := range messages {
		m = m.withNotes(req.TextOnly)
		switch m.Role {
		case RoleSystem:
			out = append(out, sentMessage{Role: RoleSystem, Content: m.Text})
		case RoleAssistant:
			out = append(out, assistantMessage(m))
		case RoleTool:
			out = append(out, sentMessage{Role: RoleTool, Content: m.Text, ToolCallID: m.ToolCallID})
			shown = append(shown, toolImages(m)...)
		default:
			out = append(out, userMessage(m))
		}
		// A tool message takes text only, and nothing may stand between the answers to one message's calls: the images
		// follow the last of them as a message of their own.
		if answered := i+1 == len(messages) || messages[i+1].Role != RoleTool; answered && len(shown) > 0 {
			out = append(out, sentMessage{Role: RoleUser, Content: shown})
			shown = nil
		}
	}
	return out
}

func userMessage(m Message) sentMessage {
	if len(m.Images) == 0 {
		return sentMessage{Role: RoleUser, Content: m.Text}
	}
	var parts []sentPart
	if m.Text != "" {
		parts = append(parts, sentPart{Type: "text", Text: m.Text})
	}
	return sentMessage{Role: RoleUser, Content: append(parts, imageParts(m.Images)...)}
}

func toolImages(m Message) []sentPart {
	if len(m.Images) == 0 {
		return nil
	}
	caption := sentPart{Type: "text", Text: "Image result of tool call " + m.ToolCallID + ":"}
	return append([]sentPart{caption}, imageParts(m.Images)...)
}

func imageParts(images []Image) []sentPart {
	parts := make([]sentPart, 0, len(images))
	for _, image := range images {
		data := "data:" + image.MediaType + ";base64," + base64.StdEncoding.EncodeToString(image.Data)
		parts = append(parts, sentPart{Type: "image_url", ImageURL: &sentImage{URL: data}})
	}
	return parts
}

func assistantMessage(m Message) sentMessage {
	assistant := sentMessage{Role: RoleAssistant, Refusal: m.Refusal}
	// An assistant message with nothing in it is refused, but an empty reply is a fact of the history.
	if m.Text != "" || len(m.ToolCalls) == 0 && m.Refusal == "" {
		text := m.Text
		if text == "" {
			text = "(no answer)"
		}
		assistant.Content = text
	}
	for _, call := range m.ToolCalls {
		sent := sentCall{ID: call.ID, Type: "function"}
		sent.Function.Name, sent.Function.Arguments = sendableName(call.Name), sendableArguments(call)
		assistant.ToolCalls = append(assistant.ToolCalls, sent)
	}
	return assistant
}

// sendableName makes a name that a model invented fit for the history: a provider that let the model write it still
// refuses to read it.
func sendableName(name string) string {
	name = strings.Map(sendable, name)
	if name == "" {
		return "unnamed"
	}
	return name[:min(len(name), 64)]
}

func sendable(c rune) rune {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		return c
	}
	return '_'
}

// sendableArguments does the same for arguments that are not JSON, on which servers with chat templates choke. The
// model still sees what it wrote.
func sendableArguments(call ToolCall) string {
	if call.ArgumentsError == "" {
		return call.Arguments
	}
	wrapped, err := json.Marshal(map[string]string{"invalid_arguments": call.Arguments})
	if err != nil {
		return "{}"
	}
	return string(wrapped)
}
