// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"fmt"
	"strings"
)

// anthropicRequest is the body of POST /v1/messages. Unused fields are declared too, so that strict decoding accepts
// what the API accepts.
type anthropicRequest struct {
	Model      string             `json:"model"`
	MaxTokens  *int64             `json:"max_tokens"`
	System     anthropicContent   `json:"system"`
	Messages   []anthropicMessage `json:"messages"`
	Tools      []anthropicTool    `json:"tools"`
	ToolChoice *struct {
		Type                   string `json:"type"`
		Name                   string `json:"name"`
		DisableParallelToolUse bool   `json:"disable_parallel_tool_use"`
	} `json:"tool_choice"`
	Thinking     *anthropicThinking `json:"thinking"`
	OutputConfig *struct {
		Effort     *string `json:"effort"`
		Format     ignored `json:"format"`
		TaskBudget ignored `json:"task_budget"`
	} `json:"output_config"`
	Temperature  *float64      `json:"temperature"`
	Stream       bool          `json:"stream"`
	CacheControl *cacheControl `json:"cache_control"`

	Container         ignored `json:"container"`
	ContextManagement ignored `json:"context_management"`
	Diagnostics       ignored `json:"diagnostics"`
	Speed             ignored `json:"speed"`
	InferenceGeo      ignored `json:"inference_geo"`
	Metadata          ignored `json:"metadata"`
	ServiceTier       ignored `json:"service_tier"`
	StopSequences     ignored `json:"stop_sequences"`
	TopK              ignored `json:"top_k"`
	TopP              ignored `json:"top_p"`
}

type anthropicThinking struct {
	Type         string  `json:"type"`
	BudgetTokens *int64  `json:"budget_tokens"`
	Display      *string `json:"display"`
}

// enabled reports whether the model is to think before it answers.
func (t *anthropicThinking) enabled() bool { return t != nil && t.Type != "disabled" }

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content anthropicContent `json:"content"`
}

type anthropicTool struct {
	Type         *string         `json:"type"`
	Name         string          `json:"name"`
	Description  ignored         `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl *cacheControl   `json:"cache_control"`
	Strict       ignored         `json:"strict"`
	DeferLoading ignored         `json:"defer_loading"`

	EagerInputStreaming ignored `json:"eager_input_streaming"`
	AllowedCallers      ignored `json:"allowed_callers"`
	InputExamples       ignored `json:"input_examples"`
}

type cacheControl struct {
	Type string  `json:"type"`
	TTL  *string `json:"ttl"`
}

type anthropicContent struct {
	set    bool
	blocks []anthropicBlock
}

// UnmarshalJSON accepts both forms; a string is one block of text.
func (c *anthropicContent) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case 'n':
		return nil
	case '"':
		block := anthropicBlock{Type: "text"}
		c.set, c.blocks = true, nil
		if err := json.Unmarshal(data, &block.Text); err != nil {
			return err
		}
		c.blocks = []anthropicBlock{block}
		return nil
	}
	c.set = true
	if err := json.Unmarshal(data, &c.blocks); err != nil {
		return fmt.Errorf("content must be a string or a list of blocks: %w", err)
	}
	return nil
}

// anthropicBlock is a block of content. Which fields it has depends on its type.
type anthropicBlock struct {
	Type   string           `json:"type"`
	Text   string           `json:"text"`
	Source *anthropicSource `json:"source"`
	// ID, Name and Input belong to tool_use.
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	// ToolUseID and Content belong to tool_result.
	ToolUseID string           `json:"tool_use_id"`
	Content   anthropicContent `json:"content"`
	// Thinking and Signature belong to thinking, Data to redacted_thinking.
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
	Data      string `json:"data"`

	CacheControl *cacheControl `json:"cache_control"`

	fields object
}

func (b *anthropicBlock) UnmarshalJSON(data []byte) error {
	type plain anthropicBlock
	return decodeFields(data, (*plain)(b), &b.fields)
}

type anthropicSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
	URL       string `json:"url"`
}

func (c anthropicContent) texts() string {
	var b strings.Builder
	for i := range c.blocks {
		b.WriteString(c.blocks[i].Text)
	}
	return b.String()
}

// images counts the images among the blocks.
func (c anthropicContent) images() int {
	n := 0
	for i := range c.blocks {
		if c.blocks[i].Type == "image" {
			n++
		}
	}
	return n
}

func (r *anthropicRequest) conversation() *conversation {
	c := &conversation{model: r.Model, stream: r.Stream, callPrefix: "toolu_"}
	if r.System.set {
		c.messages = append(c.messages, message{role: roleSystem, text: r.System.texts()})
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role == roleAssistant {
			c.messages = append(c.messages, m.assistant())
			continue
		}
		c.messages = append(c.messages, m.user()...)
	}
	for i := range r.Tools {
		if r.ToolChoice == nil || r.ToolChoice.Type != "none" {
			c.tools = append(c.tools, r.Tools[i].Name)
		}
	}
	return c.complete()
}

func (m *anthropicMessage) assistant() message {
	out := message{role: roleAssistant, text: m.Content.texts()}
	for i := range m.Content.blocks {
		if b := &m.Content.blocks[i]; b.Type == "tool_use" {
			out.calls = append(out.calls, toolCall{id: b.ID, name: b.Name, arguments: string(b.Input)})
		}
	}
	return out
}

// user returns the messages of a user's turn: the results of tools, then one for each text.
func (m *anthropicMessage) user() []message {
	var t userTurn
	for i := range m.Content.blocks {
		b := &m.Content.blocks[i]
		switch b.Type {
		case "tool_result":
			t.addResult(message{callID: b.ToolUseID, text: b.Content.texts(), images: b.Content.images()})
		case "image":
			t.addImage()
		default:
			t.addText(b.Text)
		}
	}
	return t.messages()
}
