// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package bedrock

import (
	"encoding/json"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/internal/plainjson"
)

// request is the body of a call. The messages are last, so that everything before them is a stable prefix.
type request struct {
	Inference *inference   `json:"inferenceConfig,omitempty"`
	Fields    *modelFields `json:"additionalModelRequestFields,omitempty"`
	Tools     *toolConfig  `json:"toolConfig,omitempty"`
	System    []block      `json:"system,omitempty"`
	Messages  []*turn      `json:"messages"`
}

type inference struct {
	MaxTokens   int64    `json:"maxTokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
}

type turn struct {
	Role    model.MessageRole `json:"role"`
	Content []block           `json:"content"`
}

// block is a block of content: one of its fields is set. Reasoning is sent as it came.
type block struct {
	Text       *string         `json:"text,omitempty"`
	Image      *image          `json:"image,omitempty"`
	ToolUse    *toolUse        `json:"toolUse,omitempty"`
	ToolResult *toolResult     `json:"toolResult,omitempty"`
	Reasoning  json.RawMessage `json:"reasoningContent,omitempty"`
	CachePoint *cachePoint     `json:"cachePoint,omitempty"`
}

type image struct {
	Format string `json:"format"`
	Source struct {
		Bytes []byte `json:"bytes"`
	} `json:"source"`
}

type toolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type toolResult struct {
	ID      string  `json:"toolUseId"`
	Content []block `json:"content"`
}

// cachePoint ends a prefix that the provider may cache.
type cachePoint struct {
	Type string `json:"type"`
}

func cacheMark() *cachePoint { return &cachePoint{Type: "default"} }

type toolConfig struct {
	Tools  []tool                       `json:"tools"`
	Choice map[string]map[string]string `json:"toolChoice,omitempty"`
}

type tool struct {
	Spec       *toolSpec   `json:"toolSpec,omitempty"`
	CachePoint *cachePoint `json:"cachePoint,omitempty"`
}

type toolSpec struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	Schema      inputSchema `json:"inputSchema"`
}

type inputSchema struct {
	JSON json.RawMessage `json:"json"`
}

func encodeRequest(req model.Request, used dialect) ([]byte, error) {
	body := request{Fields: used.reasoning(req), Messages: turns(req, used)}
	config := inference{MaxTokens: used.outputLimit(req)}
	if t := req.Temperature; t != nil && !used.noTemperature && !body.Fields.thinks() {
		config.Temperature = new(min(*t, 1)) // the largest that the API accepts
	}
	if config != (inference{}) {
		body.Inference = &config
	}
	for i := range req.Messages {
		if m := &req.Messages[i]; m.Role == model.RoleSystem && !wire.IsBlank(m.Text) {
			body.System = append(body.System, textBlock(m.Text))
		}
	}
	if len(body.System) > 0 && !used.noCache {
		body.System = append(body.System, block{CachePoint: cacheMark()})
	}
	var err error
	if body.Tools, err = tools(req, used); err != nil {
		return nil, err
	}
	return plainjson.Marshal(body)
}

func (f *modelFields) thinks() bool {
	return f != nil && f.Thinking != nil && f.Thinking.Type != "disabled"
}

// tools returns the tools and how they may be used. The API cannot forbid calls.
func tools(req model.Request, used dialect) (*toolConfig, error) {
	offered, choice := req.Tools, req.ToolChoice
	if len(offered) == 0 {
		// A history with calls requires that tools are defined.
		offered, choice = wire.CalledTools(req), ""
	}
	if len(offered) == 0 {
		return nil, nil
	}
	config := &toolConfig{}
	for _, t := range offered {
		schema := t.Parameters
		if len(schema) == 0 {
			schema = json.RawMessage(wire.NoArguments)
		}
		if err := wire.CheckSchema(t.Name, schema); err != nil {
			return nil, err
		}
		config.Tools = append(config.Tools, tool{Spec: &toolSpec{Name: t.Name, Description: t.Description, Schema: inputSchema{JSON: schema}}})
	}
	if !used.noCache {
		config.Tools = append(config.Tools, tool{CachePoint: cacheMark()})
	}
	if !used.noChoice {
		switch choice {
		case "auto":
			config.Choice = map[string]map[string]string{"auto": {}}
		case "required":
			config.Choice = map[string]map[string]string{"any": {}}
		}
	}
	return config, nil
}

func textBlock(text string) block { return block{Text: &text} }

// turns returns the messages. The API requires that turns of the user and of the model alternate, so consecutive
// messages are merged.
func turns(req model.Request, used dialect) []*turn {
	var all []*turn
	add := func(role model.MessageRole, blocks []block) {
		if n := len(all); n > 0 && all[n-1].Role == role {
			all[n-1].Content = append(all[n-1].Content, blocks...)
			return
		}
		all = append(all, &turn{Role: role, Content: blocks})
	}
	ids := &wire.CallIDs{Max: 64}
	for i := range req.Messages {
		m := wire.WithImageNotes(req.Messages[i], req.TextOnly, imageTypes)
		switch m.Role {
		case model.RoleSystem:
		case model.RoleAssistant:
			if len(all) == 0 {
				add(model.RoleUser, []block{textBlock("(no message)")}) // the first turn must be the user's
			}
			add(model.RoleAssistant, assistant(m, req, used, ids))
		case model.RoleTool:
			add(model.RoleUser, []block{{ToolResult: &toolResult{ID: ids.Valid(m.ToolCallID), Content: content(m, "(no output)")}}})
		default:
			add(model.RoleUser, content(m, "(empty message)"))
		}
	}
	if !used.noCache {
		mark(all)
	}
	return all
}

// mark marks the ends of the two newest turns of the user: the older one was the end of the request before, whose
// cached prefix is then found however many blocks follow.
func mark(all []*turn) {
	left := 2
	for i := len(all) - 1; i >= 0 && left > 0; i-- {
		if all[i].Role == model.RoleUser {
			all[i].Content = append(all[i].Content, block{CachePoint: cacheMark()})
			left--
		}
	}
}

// imageTypes are the types of images that the API accepts.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// content returns the text and the images of a message, or the text empty if it has neither.
func content(m model.Message, empty string) []block {
	var blocks []block
	if !wire.IsBlank(m.Text) {
		blocks = append(blocks, textBlock(m.Text))
	}
	for i := range m.Images {
		shown := &image{Format: strings.TrimPrefix(m.Images[i].MediaType, "image/")}
		shown.Source.Bytes = m.Images[i].Data
		blocks = append(blocks, block{Image: shown})
	}
	if len(blocks) == 0 {
		blocks = append(blocks, textBlock(empty))
	}
	return blocks
}

// assistant returns a message of the model: its reasoning, its text, and its calls, each after the reasoning before it.
func assistant(m model.Message, req model.Request, used dialect, ids *wire.CallIDs) []block {
	blocks := reasoning(nil, m, "", req, used)
	before := len(blocks)
	for _, text := range []string{m.Text, m.Refusal} {
		if !wire.IsBlank(text) {
			blocks = append(blocks, textBlock(text))
		}
	}
	for _, call := range m.ToolCalls {
		blocks = reasoning(blocks, m, call.ID, req, used)
		blocks = append(blocks, block{ToolUse: &toolUse{
			ID: ids.Valid(call.ID), Name: wire.SendableName(call.Name), Input: json.RawMessage(wire.SendableArguments(call)),
		}})
	}
	if len(blocks) == before {
		blocks = append(blocks, textBlock("(no answer)"))
	}
	return blocks
}

// reasoning appends the reasoning that belongs before a call or, if it is empty, before everything.
func reasoning(blocks []block, m model.Message, call string, req model.Request, used dialect) []block {
	if used.noReasoning {
		return blocks
	}
	for i := range m.ReasoningItems {
		if item := &m.ReasoningItems[i]; item.Call == call && wire.IsOwn(*item, req, model.Bedrock) {
			blocks = append(blocks, block{Reasoning: item.Data})
		}
	}
	return blocks
}
