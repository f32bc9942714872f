// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"fmt"
	"strings"
)

// responsesRequest is the body of POST /v1/responses. Unused fields are declared too, so that strict decoding accepts
// what the API accepts.
type responsesRequest struct {
	Model        string          `json:"model"`
	Input        responsesInput  `json:"input"`
	Instructions *string         `json:"instructions"`
	Tools        []responsesTool `json:"tools"`
	ToolChoice   json.RawMessage `json:"tool_choice"`
	Stream       bool            `json:"stream"`
	Store        *bool           `json:"store"`
	Include      []string        `json:"include"`
	Reasoning    *struct {
		Effort          *string `json:"effort"`
		Summary         *string `json:"summary"`
		GenerateSummary ignored `json:"generate_summary"`
		Context         ignored `json:"context"`
		Mode            ignored `json:"mode"`
	} `json:"reasoning"`
	MaxOutputTokens    *int64   `json:"max_output_tokens"`
	Temperature        *float64 `json:"temperature"`
	PreviousResponseID *string  `json:"previous_response_id"`

	AccessPrograms       ignored `json:"access_programs"`
	Background           ignored `json:"background"`
	ContextManagement    ignored `json:"context_management"`
	Conversation         ignored `json:"conversation"`
	MaxToolCalls         ignored `json:"max_tool_calls"`
	Metadata             ignored `json:"metadata"`
	Moderation           ignored `json:"moderation"`
	ParallelToolCalls    ignored `json:"parallel_tool_calls"`
	Prompt               ignored `json:"prompt"`
	PromptCacheKey       ignored `json:"prompt_cache_key"`
	PromptCacheOptions   ignored `json:"prompt_cache_options"`
	PromptCacheRetention ignored `json:"prompt_cache_retention"`
	SafetyIdentifier     ignored `json:"safety_identifier"`
	ServiceTier          ignored `json:"service_tier"`
	StreamOptions        ignored `json:"stream_options"`
	Text                 ignored `json:"text"`
	TopLogprobs          ignored `json:"top_logprobs"`
	TopP                 ignored `json:"top_p"`
	Truncation           ignored `json:"truncation"`
	User                 ignored `json:"user"`
}

type responsesTool struct {
	Type         string          `json:"type"`
	Name         string          `json:"name"`
	Description  ignored         `json:"description"`
	Parameters   json.RawMessage `json:"parameters"`
	Strict       *bool           `json:"strict"`
	DeferLoading ignored         `json:"defer_loading"`
}

type responsesInput struct {
	set   bool
	items []responsesItem
}

// UnmarshalJSON accepts both forms; a string is one message of the user.
func (in *responsesInput) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case 'n':
		return nil
	case '"':
		item := responsesItem{Role: roleUser}
		in.set = true
		err := json.Unmarshal(data, &item.Content)
		in.items = []responsesItem{item}
		return err
	}
	in.set = true
	if err := json.Unmarshal(data, &in.items); err != nil {
		return fmt.Errorf("input must be a string or a list of items: %w", err)
	}
	return nil
}

// responsesItem is an item of the input. Which fields it has depends on its type; without one it is a message.
type responsesItem struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	// Role and Content belong to messages.
	Role    string         `json:"role"`
	Content responsesParts `json:"content"`
	// CallID, Name and Arguments belong to function_call, CallID and Output to function_call_output.
	CallID    string         `json:"call_id"`
	Name      string         `json:"name"`
	Arguments *string        `json:"arguments"`
	Output    responsesParts `json:"output"`
	// Summary and EncryptedContent belong to reasoning.
	Summary          json.RawMessage `json:"summary"`
	EncryptedContent *string         `json:"encrypted_content"`

	fields object
}

const (
	itemMessage   = "message"
	itemCall      = "function_call"
	itemResult    = "function_call_output"
	itemReasoning = "reasoning"
)

func (i *responsesItem) UnmarshalJSON(data []byte) error {
	type plain responsesItem
	return decodeFields(data, (*plain)(i), &i.fields)
}

func (i *responsesItem) kind() string {
	if i.Type == "" && i.Role != "" {
		return itemMessage
	}
	return i.Type
}

type responsesParts struct {
	set   bool
	plain bool // a string
	parts []responsesPart
}

type responsesPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"`
	ImageURL string `json:"image_url"`

	fields object
}

func (p *responsesPart) UnmarshalJSON(data []byte) error {
	type plain responsesPart
	return decodeFields(data, (*plain)(p), &p.fields)
}

func (c *responsesParts) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case 'n':
		return nil
	case '"':
		var part responsesPart
		c.set, c.plain = true, true
		err := json.Unmarshal(data, &part.Text)
		c.parts = []responsesPart{part}
		return err
	}
	c.set = true
	if err := json.Unmarshal(data, &c.parts); err != nil {
		return fmt.Errorf("expected a string or a list of parts: %w", err)
	}
	return nil
}

func (c responsesParts) texts() string {
	var b strings.Builder
	for i := range c.parts {
		b.WriteString(c.parts[i].Text)
		b.WriteString(c.parts[i].Refusal)
	}
	return b.String()
}

func (c responsesParts) images() int {
	n := 0
	for i := range c.parts {
		if c.parts[i].Type == "input_image" {
			n++
		}
	}
	return n
}

// conversation makes one reply of consecutive items of the model.
func (r *responsesRequest) conversation() *conversation {
	c := &conversation{model: r.Model, stream: r.Stream, callPrefix: "call_"}
	if r.Instructions != nil && *r.Instructions != "" {
		c.messages = append(c.messages, message{role: roleSystem, text: *r.Instructions})
	}
	var results userTurn
	replying := false
	for i := range r.Input.items {
		item := &r.Input.items[i]
		if item.kind() == itemResult {
			results.addResult(message{callID: item.CallID, text: item.Output.texts(), images: item.Output.images()})
			replying = false
			continue
		}
		c.messages = append(c.messages, results.messages()...)
		results = userTurn{}
		replying = c.addItem(item, replying)
	}
	c.messages = append(c.messages, results.messages()...)
	for i := range r.Tools {
		if string(r.ToolChoice) != `"none"` {
			c.tools = append(c.tools, r.Tools[i].Name)
		}
	}
	return c.complete()
}

// addItem adds an item to the conversation. replying means that the newest message is a reply that the item continues;
// addItem returns the same for the next item.
func (c *conversation) addItem(item *responsesItem, replying bool) bool {
	kind := item.kind()
	if kind == itemMessage && item.Role != roleAssistant {
		role := item.Role
		if role == "developer" {
			role = roleSystem
		}
		c.messages = append(c.messages, message{role: role, text: item.Content.texts(), images: item.Content.images()})
		return false
	}
	// Reasoning and a message begin a reply, unless they follow the reasoning of it.
	if !replying || kind != itemCall && (c.last().text != "" || len(c.last().calls) > 0) {
		c.messages = append(c.messages, message{role: roleAssistant})
	}
	reply := c.last()
	switch kind {
	case itemMessage:
		reply.text += item.Content.texts()
	case itemCall:
		call := toolCall{id: item.CallID, name: item.Name}
		if item.Arguments != nil {
			call.arguments = *item.Arguments
		}
		reply.calls = append(reply.calls, call)
	}
	return true
}
