// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package responses

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// encodeRequest encodes a request for the API. As in package openai it is written by hand, because a request contains
// the whole conversation. The parts that change between the requests of an agent come last, so that consecutive
// requests share their beginning.
func encodeRequest(req model.Request, used dialect) ([]byte, error) {
	b := wire.AppendField([]byte{'{'}, `"model":`, req.Model)
	b = append(b, `,"stream":true,"store":false`...)
	if !used.noEncrypted {
		b = append(b, `,"include":["reasoning.encrypted_content"]`...)
	}
	if req.ReasoningEffort != "" && !used.noReasoning {
		b = wire.AppendField(b, `,"reasoning":{"effort":`, strings.ToLower(string(req.ReasoningEffort)))
		if req.ReasoningEffort != model.EffortNone && !used.noSummary {
			b = append(b, `,"summary":"auto"`...)
		}
		b = append(b, '}')
	}
	b, err := wire.AppendTemperature(b, req.Temperature)
	if err != nil {
		return nil, err
	}
	if req.MaxOutputTokens > 0 {
		b = strconv.AppendInt(append(b, `,"max_output_tokens":`...), req.MaxOutputTokens, 10)
	}
	if req.ToolChoice != "" {
		b = wire.AppendField(b, `,"tool_choice":`, req.ToolChoice)
	}
	b, err = appendTools(b, req.Tools)
	if err != nil {
		return nil, err
	}
	system, conversation := splitSystem(req.Messages)
	if system != "" {
		b = wire.AppendField(b, `,"instructions":`, system)
	}
	e := encoder{body: append(b, `,"input":[`...), request: req, used: used}
	for i := range conversation {
		e.message(conversation[i])
	}
	return append(e.body, "]}"...), nil
}

// splitSystem returns the text of the system messages at the beginning, and the messages after them.
func splitSystem(messages []model.Message) (string, []model.Message) {
	var texts []string
	for len(messages) > 0 && messages[0].Role == model.RoleSystem {
		texts = append(texts, messages[0].Text)
		messages = messages[1:]
	}
	return strings.Join(texts, "\n\n"), messages
}

func appendTools(b []byte, tools []model.Tool) ([]byte, error) {
	if len(tools) == 0 {
		return b, nil
	}
	b = append(b, `,"tools":[`...)
	for i, t := range tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendField(b, `{"type":"function","name":`, t.Name)
		if t.Description != "" {
			b = wire.AppendField(b, `,"description":`, t.Description)
		}
		parameters := t.Parameters
		if len(parameters) == 0 {
			parameters = json.RawMessage(wire.NoArguments)
		}
		if err := wire.CheckSchema(t.Name, parameters); err != nil {
			return nil, err
		}
		b = append(append(b, `,"parameters":`...), parameters...)
		b = append(b, `,"strict":false}`...)
	}
	return append(b, ']'), nil
}

type encoder struct {
	body    []byte
	request model.Request
	used    dialect
	items   int
}

func (e *encoder) item(beginning string) {
	if e.items > 0 {
		e.body = append(e.body, ',')
	}
	e.items++
	e.body = append(e.body, beginning...)
}

func (e *encoder) message(m model.Message) {
	if len(m.Images) > 0 {
		m = m.WithImageNotes(e.request.TextOnly)
	}
	switch m.Role {
	case model.RoleAssistant:
		e.assistant(m)
	case model.RoleTool:
		e.item("")
		e.body = wire.AppendField(e.body, `{"type":"function_call_output","call_id":`, m.ToolCallID)
		e.content(`,"output":`, m)
	case model.RoleSystem:
		e.item(`{"role":"developer"`)
		e.content(`,"content":`, m)
	default:
		e.item(`{"role":"user"`)
		e.content(`,"content":`, m)
	}
}

// content appends the text and the images of a message, and ends its item.
func (e *encoder) content(name string, m model.Message) {
	if len(m.Images) == 0 {
		e.body = append(wire.AppendField(e.body, name, m.Text), '}')
		return
	}
	e.body = append(append(e.body, name...), '[')
	if m.Text != "" {
		e.body = append(wire.AppendField(e.body, `{"type":"input_text","text":`, m.Text), "},"...)
	}
	for i := range m.Images {
		if i > 0 {
			e.body = append(e.body, ',')
		}
		e.body = append(wire.AppendField(e.body, `{"type":"input_image","image_url":`, wire.DataURL(m.Images[i])), '}')
	}
	e.body = append(e.body, "]}"...)
}

// assistant appends the items of a reply in the order in which the model produced them: reasoning precedes what it led
// to.
func (e *encoder) assistant(m model.Message) {
	e.reasoning(m, "")
	text := m.Text
	switch {
	case m.Refusal != "":
		text = strings.TrimPrefix(text+"\n"+m.Refusal, "\n")
	case text == "" && len(m.ToolCalls) == 0:
		text = "(no answer)" // the history may contain an empty reply, which the API rejects
	}
	if text != "" {
		e.item("")
		e.body = append(wire.AppendField(e.body, `{"role":"assistant","content":`, text), '}')
	}
	for _, call := range m.ToolCalls {
		e.reasoning(m, call.ID)
		e.item("")
		e.body = wire.AppendField(e.body, `{"type":"function_call","call_id":`, call.ID)
		e.body = wire.AppendField(e.body, `,"name":`, wire.SendableName(call.Name))
		e.body = append(wire.AppendField(e.body, `,"arguments":`, wire.SendableArguments(call)), '}')
	}
}

// reasoning appends the items that precede a tool call, or the text. Other APIs and other models do not accept them.
func (e *encoder) reasoning(m model.Message, call string) {
	if e.used.noEncrypted {
		return
	}
	for _, item := range m.ReasoningItems {
		if item.Call == call && wire.IsOwn(item, e.request, model.OpenAIResponses) {
			e.item(string(item.Data))
		}
	}
}
