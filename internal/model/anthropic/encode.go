// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// defaultMaxTokens is the output limit of a request without one, because the API requires it.
const defaultMaxTokens = 32_000

// cacheMark ends a prefix that the provider may cache.
const cacheMark = `,"cache_control":{"type":"ephemeral"}`

// encodeRequest encodes a request for the API. It is written by hand because a request contains the whole conversation,
// and the SDK's types would decode and encode the schemas of tools and the thinking blocks again.
func encodeRequest(req model.Request, used dialect) ([]byte, error) {
	maxTokens := req.MaxOutputTokens
	if maxTokens <= 0 {
		maxTokens = defaultMaxTokens
	}
	if used.maxOutput > 0 {
		maxTokens = min(maxTokens, used.maxOutput)
	}
	b := make([]byte, 0, wire.RequestSize(req))
	b = wire.AppendField(append(b, '{'), `"model":`, req.Model)
	b = strconv.AppendInt(append(b, `,"max_tokens":`...), maxTokens, 10)
	b = append(b, `,"stream":true`...)
	thinking := encodeThinking(req, used, maxTokens)
	b = append(b, thinking...)
	thinks := thinking != "" && thinking != thinkingDisabled
	var err error
	if t := req.Temperature; t != nil && !thinks && !used.noTemperature {
		if b, err = wire.AppendTemperature(b, new(min(*t, 1))); err != nil { // the API accepts no more than 1
			return nil, err
		}
	}
	b, err = appendTools(b, req)
	if err != nil {
		return nil, err
	}
	b = appendSystem(b, req)
	b = append(b, `,"messages":[`...)
	b = appendMessages(b, req, used)
	return append(b, "]}"...), nil
}

const thinkingDisabled = `,"thinking":{"type":"disabled"}`

func encodeThinking(req model.Request, used dialect, maxTokens int64) string {
	switch {
	case req.ReasoningEffort == "", used.thinking == thinkNot:
		return ""
	case req.ReasoningEffort == model.EffortNone:
		return thinkingDisabled
	case used.noReasoning, req.ToolChoice == "required" && len(req.Tools) > 0, !wire.LoopBeganWithReasoning(req, model.Anthropic):
		return "" // the API does not accept it with these
	case used.thinking == thinkByEffort:
		return `,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"` + strings.ToLower(string(req.ReasoningEffort)) + `"}`
	}
	budget := wire.ReasoningBudget(req.ReasoningEffort, maxTokens)
	if budget == 0 {
		return ""
	}
	return `,"thinking":{"type":"enabled","budget_tokens":` + strconv.FormatInt(budget, 10) + `}`
}

// appendTools appends the tools and how they may be used.
func appendTools(b []byte, req model.Request) ([]byte, error) {
	tools, choice := req.Tools, req.ToolChoice
	if len(tools) == 0 {
		// A history with calls requires that tools are defined.
		tools, choice = wire.CalledTools(req), "none"
	}
	if len(tools) == 0 {
		return b, nil
	}
	b = append(b, `,"tools":[`...)
	for i, t := range tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendField(b, `{"name":`, t.Name)
		if t.Description != "" {
			b = wire.AppendField(b, `,"description":`, t.Description)
		}
		schema := t.Parameters
		if len(schema) == 0 {
			schema = json.RawMessage(wire.NoArguments)
		}
		if err := wire.CheckSchema(t.Name, schema); err != nil {
			return nil, err
		}
		b = append(append(b, `,"input_schema":`...), schema...)
		if i == len(tools)-1 {
			b = append(b, cacheMark...)
		}
		b = append(b, '}')
	}
	b = append(b, ']')
	switch choice {
	case "":
	case "required":
		b = append(b, `,"tool_choice":{"type":"any"}`...)
	default:
		b = append(wire.AppendField(b, `,"tool_choice":{"type":`, choice), '}')
	}
	return b, nil
}

func appendSystem(b []byte, req model.Request) []byte {
	first := true
	for i := range req.Messages {
		m := &req.Messages[i]
		if m.Role != model.RoleSystem || wire.IsBlank(m.Text) {
			continue
		}
		if first {
			b = append(b, `,"system":[`...)
		} else {
			b = append(b, ',')
		}
		first = false
		b = append(wire.AppendField(b, `{"type":"text","text":`, m.Text), '}')
	}
	if first {
		return b
	}
	return append(append(b[:len(b)-1], cacheMark...), "}]"...)
}

// turns appends the messages. The API requires that turns of the user and of the model alternate, so consecutive
// messages are merged, and that the results of tools come first in their turn, as they do in the history.
type turns struct {
	b    []byte
	req  model.Request
	used dialect
	ids  wire.CallIDs

	role   model.MessageRole // of the open turn
	blocks int               // in the open turn
	last   int               // where the last block of the open turn ends
	// ends are where the last blocks of the user's turns end.
	ends []int
}

func appendMessages(b []byte, req model.Request, used dialect) []byte {
	t := &turns{b: b, req: req, used: used}
	for _, m := range req.Messages {
		if len(m.Images) > 0 {
			m = m.WithImageNotes(req.TextOnly)
		}
		switch m.Role {
		case model.RoleSystem:
		case model.RoleAssistant:
			if t.role == "" {
				t.open(model.RoleUser) // the first turn must be the user's
				t.text("(no message)")
			}
			t.open(model.RoleAssistant)
			t.assistant(m)
		case model.RoleTool:
			t.open(model.RoleUser)
			t.result(m)
		default:
			t.open(model.RoleUser)
			t.user(m)
		}
	}
	t.close()
	return t.mark()
}

// open begins a turn unless the open one has the same role.
func (t *turns) open(role model.MessageRole) {
	if t.role == role {
		return
	}
	t.close()
	if t.role != "" {
		t.b = append(t.b, ',')
	}
	t.b = append(wire.AppendField(t.b, `{"role":`, string(role)), `,"content":[`...)
	t.role, t.blocks = role, 0
}

func (t *turns) close() {
	if t.role == "" {
		return
	}
	if t.role == model.RoleUser {
		t.ends = append(t.ends, t.last)
	}
	t.b = append(t.b, "]}"...)
}

// mark marks the ends of the two newest turns of the user: the older one was the end of the request before, whose
// cached prefix is then found however many blocks follow.
func (t *turns) mark() []byte {
	b := t.b
	for _, end := range slices.Backward(t.ends[max(0, len(t.ends)-2):]) {
		b = slices.Insert(b, end, []byte(cacheMark)...)
	}
	return b
}

// begin begins a block and end ends it.
func (t *turns) begin() {
	if t.blocks++; t.blocks > 1 {
		t.b = append(t.b, ',')
	}
}

func (t *turns) end() {
	t.last = len(t.b)
	t.b = append(t.b, '}')
}

// text appends a block of text, unless it is blank.
func (t *turns) text(text string) {
	if wire.IsBlank(text) {
		return
	}
	t.begin()
	t.b = wire.AppendField(t.b, `{"type":"text","text":`, text)
	t.end()
}

func (t *turns) user(m model.Message) {
	before := t.blocks
	t.text(m.Text)
	for i := range m.Images {
		t.begin()
		t.b = appendImage(t.b, m.Images[i])
		t.end()
	}
	if t.blocks == before {
		t.text("(empty message)")
	}
}

// appendImage appends a block with an image, without its last brace.
func appendImage(b []byte, image model.Image) []byte {
	b = wire.AppendField(b, `{"type":"image","source":{"type":"base64","media_type":`, image.MediaType)
	b = append(b, `,"data":"`...)
	b = base64.StdEncoding.AppendEncode(b, image.Data)
	return append(b, `"}`...)
}

func (t *turns) result(m model.Message) {
	t.begin()
	t.b = wire.AppendField(t.b, `{"type":"tool_result","tool_use_id":`, t.ids.Valid(m.ToolCallID))
	if len(m.Images) == 0 {
		t.b = wire.AppendField(t.b, `,"content":`, m.Text)
		t.end()
		return
	}
	t.b = append(t.b, `,"content":[`...)
	if !wire.IsBlank(m.Text) {
		t.b = append(wire.AppendField(t.b, `{"type":"text","text":`, m.Text), "},"...)
	}
	for i := range m.Images {
		if i > 0 {
			t.b = append(t.b, ',')
		}
		t.b = append(appendImage(t.b, m.Images[i]), '}')
	}
	t.b = append(t.b, ']')
	t.end()
}

// assistant appends a message of the model: its thinking, its text, and its calls, each after the thinking before it.
func (t *turns) assistant(m model.Message) {
	t.thinking(m, "")
	before := t.blocks
	t.text(m.Text)
	t.text(m.Refusal)
	for _, call := range m.ToolCalls {
		t.thinking(m, call.ID)
		t.begin()
		t.b = wire.AppendField(t.b, `{"type":"tool_use","id":`, t.ids.Valid(call.ID))
		t.b = wire.AppendField(t.b, `,"name":`, wire.SendableName(call.Name))
		t.b = append(append(t.b, `,"input":`...), wire.SendableArguments(call)...)
		t.end()
	}
	if t.blocks == before {
		t.text("(no answer)")
	}
}

// thinking appends the thinking blocks that belong before a call or, if it is empty, before everything.
func (t *turns) thinking(m model.Message, call string) {
	if t.used.noReasoning {
		return
	}
	for i := range m.ReasoningItems {
		if item := &m.ReasoningItems[i]; item.Call == call && wire.IsOwn(*item, t.req, model.Anthropic) {
			t.begin()
			t.b = append(t.b, item.Data...)
		}
	}
}
