// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nestor-dev/nestor/internal/shorten"
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

// ignored skips a value.
type ignored struct{}

// UnmarshalJSON accepts anything.
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
	// parts are the types of the parts of a list, and images the URLs of those that are images.
	parts  []string
	images []string
}

// UnmarshalJSON accepts the three forms.
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

// conversation is a request in the form that rules match.
type conversation struct {
	*chatRequest

	role    string
	roleKey string
	system  string
	turn    int
}

const orchestratorRole = "orchestrator"

func newConversation(req *chatRequest) *conversation {
	c := &conversation{chatRequest: req, role: orchestratorRole, turn: 1}
	for i := range req.Messages {
		m := &req.Messages[i]
		switch m.Role {
		case "assistant":
			c.turn++
		case "system", "developer":
			if c.system == "" {
				c.system = m.Content.text
			}
		}
	}
	if role, ok := roleOf(c.system); ok {
		c.role = role
	}
	c.roleKey = roleKey(c.role)
	return c
}

// roleOf returns the role from the line of the sub-agent context: "You are operating as a **ROLE** sub-agent". A
// prompt without it is the orchestrator's.
func roleOf(system string) (string, bool) {
	const before, after = "You are operating as a", "** sub-agent"
	_, rest, found := strings.Cut(system, before)
	if !found {
		return "", false
	}
	name, _, found := strings.Cut(rest, after)
	if !found || len(name) > 200 {
		return "", false
	}
	name = strings.TrimPrefix(name, "n")
	return strings.TrimPrefix(strings.TrimSpace(name), "**"), true
}

// roleKey makes "Code Reviewer", "code_reviewer" and "CodeReviewer" the same.
func roleKey(name string) string {
	return strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(name))
}

// last returns the newest message, or an empty one.
func (c *conversation) last() *chatMessage {
	if len(c.Messages) == 0 {
		return &chatMessage{}
	}
	return &c.Messages[len(c.Messages)-1]
}

// toolResults calls yield for the tool messages at the end of the conversation with the name of their tool, in order,
// until it returns true.
func (c *conversation) toolResults(yield func(tool, result string) bool) bool {
	end := len(c.Messages)
	if end > 1 && len(c.Messages[end-1].Content.images) > 0 && c.Messages[end-2].Role == "tool" {
		end-- // the images of the results, which a tool message cannot hold
	}
	first := end
	for first > 0 && c.Messages[first-1].Role == "tool" {
		first--
	}
	if first == 0 {
		return false
	}
	calls := c.Messages[first-1].ToolCalls
	for _, m := range c.Messages[first:end] {
		for _, call := range calls {
			if call.ID == m.ToolCallID && yield(call.Function.Name, m.Content.text) {
				return true
			}
		}
	}
	return false
}

func (c *conversation) offers(tool string) bool {
	for i := range c.Tools {
		if c.Tools[i].Function.Name == tool {
			return true
		}
	}
	return false
}

// String describes the request, for the error when no rule matches.
func (c *conversation) String() string {
	offered := make([]string, 0, len(c.Tools))
	for i := range c.Tools {
		offered = append(offered, c.Tools[i].Function.Name)
	}
	last := c.last()
	return fmt.Sprintf("role %q, turn %d, model %q, last message (%s) %q, tools %v",
		c.role, c.turn, c.Model, last.Role, shorten.Head(last.Content.text, 300), offered)
}
