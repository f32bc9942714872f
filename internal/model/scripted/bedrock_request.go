// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"strings"
)

// bedrockRequest is the body of a call. Unused fields are declared too, so that strict decoding accepts what the API
// accepts.
type bedrockRequest struct {
	Messages        []bedrockMessage `json:"messages"`
	System          []bedrockBlock   `json:"system"`
	InferenceConfig *struct {
		MaxTokens           *int64   `json:"maxTokens"`
		Temperature         *float64 `json:"temperature"`
		TopP, StopSequences ignored
	} `json:"inferenceConfig"`
	ToolConfig *struct {
		Tools      []bedrockTool              `json:"tools"`
		ToolChoice map[string]json.RawMessage `json:"toolChoice"`
	} `json:"toolConfig"`
	AdditionalModelRequestFields *bedrockFields `json:"additionalModelRequestFields"`

	AdditionalModelResponseFieldPaths, GuardrailConfig, OutputConfig, PerformanceConfig, PromptVariables ignored
	RequestMetadata, ServiceTier                                                                         ignored

	// model and streamed are in the address.
	model    string
	streamed bool
}

// bedrockFields are the request fields of Anthropic's models.
type bedrockFields struct {
	Thinking     *anthropicThinking `json:"thinking"`
	OutputConfig *struct {
		Effort string `json:"effort"`
	} `json:"output_config"`
}

func (r *bedrockRequest) thinking() *anthropicThinking {
	if r.AdditionalModelRequestFields == nil {
		return nil
	}
	return r.AdditionalModelRequestFields.Thinking
}

type bedrockMessage struct {
	Role    string         `json:"role"`
	Content []bedrockBlock `json:"content"`
}

// bedrockBlock is a block of content: exactly one of its fields is set.
type bedrockBlock struct {
	Text             *string            `json:"text"`
	Image            *bedrockImage      `json:"image"`
	ToolUse          *bedrockCall       `json:"toolUse"`
	ToolResult       *bedrockResult     `json:"toolResult"`
	ReasoningContent *bedrockReasoning  `json:"reasoningContent"`
	CachePoint       *bedrockCachePoint `json:"cachePoint"`
	fields           object
}

func (b *bedrockBlock) UnmarshalJSON(data []byte) error {
	type plain bedrockBlock
	return decodeFields(data, (*plain)(b), &b.fields)
}

func (b *bedrockBlock) text() string {
	if b.Text == nil {
		return ""
	}
	return *b.Text
}

type bedrockImage struct {
	Format string `json:"format"`
	Source struct {
		Bytes      []byte `json:"bytes"`
		S3Location ignored
	} `json:"source"`
}

type bedrockCall struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type bedrockResult struct {
	ID      string         `json:"toolUseId"`
	Content []bedrockBlock `json:"content"`
	Status  *string        `json:"status"`
}

type bedrockReasoning struct {
	ReasoningText *struct {
		Text      string `json:"text"`
		Signature string `json:"signature"`
	} `json:"reasoningText"`
	RedactedContent []byte `json:"redactedContent"`
}

type bedrockCachePoint struct {
	Type string  `json:"type"`
	TTL  *string `json:"ttl"`
}

type bedrockTool struct {
	ToolSpec *struct {
		Name        string  `json:"name"`
		Description *string `json:"description"`
		InputSchema struct {
			JSON json.RawMessage `json:"json"`
		} `json:"inputSchema"`
		Strict ignored
	} `json:"toolSpec"`
	CachePoint *bedrockCachePoint `json:"cachePoint"`
	SystemTool ignored
}

func (r *bedrockRequest) conversation() *conversation {
	c := &conversation{model: r.model, stream: r.streamed, callPrefix: "tooluse_"}
	if len(r.System) > 0 {
		c.messages = append(c.messages, message{role: roleSystem, text: joinTexts(r.System)})
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role == roleAssistant {
			c.messages = append(c.messages, m.assistant())
			continue
		}
		c.messages = append(c.messages, m.user()...)
	}
	if r.ToolConfig != nil {
		for i := range r.ToolConfig.Tools {
			if spec := r.ToolConfig.Tools[i].ToolSpec; spec != nil {
				c.tools = append(c.tools, spec.Name)
			}
		}
	}
	return c.complete()
}

func joinTexts(blocks []bedrockBlock) string {
	var b strings.Builder
	for i := range blocks {
		b.WriteString(blocks[i].text())
	}
	return b.String()
}

func (m *bedrockMessage) assistant() message {
	out := message{role: roleAssistant, text: joinTexts(m.Content)}
	for i := range m.Content {
		if call := m.Content[i].ToolUse; call != nil {
			out.calls = append(out.calls, toolCall{id: call.ID, name: call.Name, arguments: string(call.Input)})
		}
	}
	return out
}

// user returns the messages of a user's turn: the results of tools, then one for each text.
func (m *bedrockMessage) user() []message {
	var t userTurn
	for i := range m.Content {
		b := &m.Content[i]
		switch {
		case b.ToolResult != nil:
			result := message{callID: b.ToolResult.ID, text: joinTexts(b.ToolResult.Content)}
			for j := range b.ToolResult.Content {
				if b.ToolResult.Content[j].Image != nil {
					result.images++
				}
			}
			t.addResult(result)
		case b.Image != nil:
			t.addImage()
		case b.Text != nil:
			t.addText(*b.Text)
		}
	}
	return t.messages()
}
