// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/internal/plainjson"
)

// encodeRequest encodes a request for the API. It is written by hand because a request contains the whole conversation,
// and the SDK's types would decode and encode the schemas of tools again.
func encodeRequest(req model.Request, used dialect) ([]byte, error) {
	b := make([]byte, 0, bodySize(req))
	b = appendField(append(b, '{'), `"model":`, req.Model)
	b = appendMessages(append(b, `,"messages":[`...), req)
	b = append(b, `],"stream":true`...)
	if !used.noStreamOptions {
		b = append(b, `,"stream_options":{"include_usage":true}`...)
	}
	if t := req.Temperature; t != nil {
		number, err := json.Marshal(*t)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"temperature":`...), number...)
	}
	if req.MaxOutputTokens > 0 {
		name := `,"max_tokens":`
		if used.completionLimit {
			name = `,"max_completion_tokens":`
		}
		b = strconv.AppendInt(append(b, name...), req.MaxOutputTokens, 10)
	}
	if req.ReasoningEffort != "" && !used.noReasoningEffort {
		b = appendField(b, `,"reasoning_effort":`, strings.ToLower(string(req.ReasoningEffort)))
	}
	if req.ToolChoice != "" {
		b = appendField(b, `,"tool_choice":`, req.ToolChoice)
	}
	b, err := appendTools(b, req.Tools)
	return append(b, '}'), err
}

// bodySize estimates the size of the body.
func bodySize(req model.Request) int {
	const around = 96
	size := 256
	for i := range req.Messages {
		m := &req.Messages[i]
		size += around + len(m.Text) + len(m.Text)/32
		for j := range m.ToolCalls {
			size += around + 2*len(m.ToolCalls[j].Arguments)
		}
		for j := range m.Images {
			size += around + base64.StdEncoding.EncodedLen(len(m.Images[j].Data))
		}
	}
	for i := range req.Tools {
		size += around + len(req.Tools[i].Description) + len(req.Tools[i].Parameters)
	}
	return size
}

// appendField appends a field name, verbatim, and its text.
func appendField(b []byte, name, text string) []byte {
	return plainjson.AppendString(append(b, name...), text)
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
		b = appendField(b, `{"type":"function","function":{"name":`, t.Name)
		if t.Description != "" {
			b = appendField(b, `,"description":`, t.Description)
		}
		if len(t.Parameters) > 0 {
			if t.Parameters[0] != '{' || !json.Valid(t.Parameters) {
				return nil, fmt.Errorf("the schema of tool %s is not a JSON object", t.Name)
			}
			b = append(append(b, `,"parameters":`...), t.Parameters...)
		}
		b = append(b, "}}"...)
	}
	return append(b, ']'), nil
}

func appendMessages(b []byte, req model.Request) []byte {
	var shown []byte // pending images of tool results
	for i, m := range req.Messages {
		if i > 0 {
			b = append(b, ',')
		}
		if len(m.Images) > 0 {
			m = m.WithImageNotes(req.TextOnly)
		}
		switch m.Role {
		case model.RoleSystem:
			b = append(appendField(b, `{"role":"system","content":`, m.Text), '}')
		case model.RoleAssistant:
			b = appendAssistant(b, m)
		case model.RoleTool:
			b = appendField(b, `{"role":"tool","content":`, m.Text)
			if m.ToolCallID != "" {
				b = appendField(b, `,"tool_call_id":`, m.ToolCallID)
			}
			b = append(b, '}')
			shown = appendToolImages(shown, m)
		default:
			b = appendUser(b, m)
		}
		// A tool message may only contain text, and the answers to one message's calls must be consecutive: the
		// images follow in a separate message.
		if answered := i+1 == len(req.Messages) || req.Messages[i+1].Role != model.RoleTool; answered && len(shown) > 0 {
			b = append(b, `,{"role":"user","content":[`...)
			b = append(append(b, shown...), "]}"...)
			shown = nil
		}
	}
	return b
}

func appendUser(b []byte, m model.Message) []byte {
	if len(m.Images) == 0 {
		return append(appendField(b, `{"role":"user","content":`, m.Text), '}')
	}
	b = append(b, `{"role":"user","content":[`...)
	var parts []byte
	if m.Text != "" {
		parts = appendText(nil, m.Text)
	}
	return append(append(b, appendImages(parts, m.Images)...), "]}"...)
}

func appendToolImages(parts []byte, m model.Message) []byte {
	if len(m.Images) == 0 {
		return parts
	}
	return appendImages(appendText(parts, "Image result of tool call "+m.ToolCallID+":"), m.Images)
}

// appendText appends a text part.
func appendText(parts []byte, text string) []byte {
	return append(appendField(appendComma(parts), `{"type":"text","text":`, text), '}')
}

func appendImages(parts []byte, images []model.Image) []byte {
	for i := range images {
		image := &images[i]
		data := "data:" + image.MediaType + ";base64," + base64.StdEncoding.EncodeToString(image.Data)
		parts = append(appendField(appendComma(parts), `{"type":"image_url","image_url":{"url":`, data), "}}"...)
	}
	return parts
}

// appendComma writes a comma unless the list is empty.
func appendComma(list []byte) []byte {
	if len(list) == 0 {
		return list
	}
	return append(list, ',')
}

// appendAssistant appends a message of the model. A message with only tool calls has no content.
func appendAssistant(b []byte, m model.Message) []byte {
	b = append(b, `{"role":"assistant"`...)
	switch {
	case m.Text != "":
		b = appendField(b, `,"content":`, m.Text)
	case len(m.ToolCalls) == 0 && m.Refusal == "":
		// Providers reject an empty assistant message, but the history may contain an empty reply.
		b = append(b, `,"content":"(no answer)"`...)
	}
	if m.Refusal != "" {
		b = appendField(b, `,"refusal":`, m.Refusal)
	}
	for i, call := range m.ToolCalls {
		if i == 0 {
			b = append(b, `,"tool_calls":[`...)
		} else {
			b = append(b, ',')
		}
		b = appendField(b, `{"id":`, call.ID)
		b = appendField(b, `,"type":"function","function":{"name":`, wire.SendableName(call.Name))
		b = append(appendField(b, `,"arguments":`, wire.SendableArguments(call)), "}}"...)
	}
	if len(m.ToolCalls) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}
