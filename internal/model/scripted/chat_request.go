// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// chatRequest is the body of POST /v1/chat/completions. Unused fields are declared too, so that strict decoding
// accepts what the API accepts.
type chatRequest struct {
	Model         string         `json:"model"`
	Messages      []chatMessage  `json:"messages"`
	Tools         []chatTool     `json:"tools"`
	Stream        bool           `json:"stream"`
	StreamOptions *streamOptions `json:"stream_options"`

	MaxTokens           *int64          `json:"max_tokens"`
	MaxCompletionTokens *int64          `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature"`
	ToolChoice          json.RawMessage `json:"tool_choice"`

	Audio                ignored `json:"audio"`
	FrequencyPenalty     ignored `json:"frequency_penalty"`
	FunctionCall         ignored `json:"function_call"`
	Functions            ignored `json:"functions"`
	LogitBias            ignored `json:"logit_bias"`
	Logprobs             ignored `json:"logprobs"`
	Metadata             ignored `json:"metadata"`
	Modalities           ignored `json:"modalities"`
	Moderation           ignored `json:"moderation"`
	N                    ignored `json:"n"`
	ParallelToolCalls    ignored `json:"parallel_tool_calls"`
	Prediction           ignored `json:"prediction"`
	PresencePenalty      ignored `json:"presence_penalty"`
	PromptCacheKey       ignored `json:"prompt_cache_key"`
	PromptCacheOptions   ignored `json:"prompt_cache_options"`
	PromptCacheRetention ignored `json:"prompt_cache_retention"`
	ReasoningEffort      ignored `json:"reasoning_effort"`
	ResponseFormat       ignored `json:"response_format"`
	SafetyIdentifier     ignored `json:"safety_identifier"`
	Seed                 ignored `json:"seed"`
	ServiceTier          ignored `json:"service_tier"`
	Stop                 ignored `json:"stop"`
	Store                ignored `json:"store"`
	TopLogprobs          ignored `json:"top_logprobs"`
	TopP                 ignored `json:"top_p"`
	User                 ignored `json:"user"`
	Verbosity            ignored `json:"verbosity"`
	WebSearchOptions     ignored `json:"web_search_options"`
}

// ignored is a field that the API accepts. It needs no tag if its JSON name differs from its name only in case.
type ignored struct{}

func (*ignored) UnmarshalJSON([]byte) error { return nil }

type streamOptions struct {
	IncludeUsage       bool    `json:"include_usage"`
	IncludeObfuscation ignored `json:"include_obfuscation"`
}

type chatMessage struct {
	Role         string     `json:"role"`
	Content      content    `json:"content"`
	ToolCalls    []chatCall `json:"tool_calls"`
	ToolCallID   string     `json:"tool_call_id"`
	Refusal      *string    `json:"refusal"`
	Name         ignored    `json:"name"`
	Audio        ignored    `json:"audio"`
	FunctionCall ignored    `json:"function_call"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description ignored         `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      ignored         `json:"strict"`
}

// content is a message's content: null, a string, or a list of parts.
type content struct {
	text string
	set  bool
	// parts are the types of a list's parts, and images the URLs of its images.
	parts  []string
	images []string
}

func (c *content) UnmarshalJSON(data []byte) error {
	switch {
	case bytes.Equal(data, []byte("null")):
		return nil
	case data[0] == '"':
		c.set = true
		if bytes.IndexByte(data, '\\') < 0 {
			c.text = strings.ToValidUTF8(string(data[1:len(data)-1]), "\uFFFD") // fast path without escapes
			return nil
		}
		return json.Unmarshal(data, &c.text)
	}
	var parts []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
		Image   struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return fmt.Errorf("content must be a string or a list of parts: %w", err)
	}
	c.set = true
	var b strings.Builder
	for _, p := range parts {
		c.parts = append(c.parts, p.Type)
		if p.Type == "image_url" {
			c.images = append(c.images, p.Image.URL)
		}
		b.WriteString(p.Text)
		b.WriteString(p.Refusal)
	}
	c.text = b.String()
	return nil
}

func (r *chatRequest) conversation() *conversation {
	c := &conversation{model: r.Model, stream: r.Stream, callPrefix: "call_", messages: make([]message, 0, len(r.Messages))}
	for i := range r.Messages {
		m := &r.Messages[i]
		next := message{role: m.Role, text: m.Content.text, images: len(m.Content.images), callID: m.ToolCallID}
		if m.Role == "developer" {
			next.role = roleSystem
		}
		for _, call := range m.ToolCalls {
			next.calls = append(next.calls, toolCall{id: call.ID, name: call.Function.Name, arguments: call.Function.Arguments})
		}
		c.messages = append(c.messages, next)
	}
	for i := range r.Tools {
		if string(r.ToolChoice) != `"none"` {
			c.tools = append(c.tools, r.Tools[i].Function.Name)
		}
	}
	return c.complete()
}
