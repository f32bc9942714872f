// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// encodeRequest encodes a request for the API. It is written by hand because a request contains the whole conversation,
// and the SDK's types would decode and encode the schemas of tools again.
func encodeRequest(req model.Request, d dialect) ([]byte, error) {
	b := make([]byte, 0, wire.RequestSize(req))
	b = wire.AppendField(append(b, '{'), `"model":`, req.Model)
	b = appendMessages(append(b, `,"messages":[`...), req)
	b = append(b, `],"stream":true`...)
	if !d.noStreamOptions {
		b = append(b, `,"stream_options":{"include_usage":true}`...)
	}
	b, err := wire.AppendTemperature(b, req.Temperature)
	if err != nil {
		return nil, err
	}
	if req.MaxOutputTokens > 0 {
		name := `,"max_tokens":`
		if d.completionLimit {
			name = `,"max_completion_tokens":`
		}
		b = strconv.AppendInt(append(b, name...), req.MaxOutputTokens, 10)
	}
	if req.ReasoningEffort != "" && !d.noReasoningEffort {
		b = wire.AppendField(b, `,"reasoning_effort":`, strings.ToLower(string(req.ReasoningEffort)))
	}
	if req.ToolChoice != "" {
		b = wire.AppendField(b, `,"tool_choice":`, req.ToolChoice)
	}
	b, err = appendTools(b, req.Tools)
	return append(b, '}'), err
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
		b = wire.AppendField(b, `{"type":"function","function":{"name":`, t.Name)
		if t.Description != "" {
			b = wire.AppendField(b, `,"description":`, t.Description)
		}
		if len(t.Parameters) > 0 {
			if err := wire.CheckSchema(t.Name, t.Parameters); err != nil {
				return nil, err
			}
			b = append(append(b, `,"parameters":`...), t.Parameters...)
		}
		b = append(b, "}}"...)
	}
	return append(b, ']'), nil
}

func appendMessages(b []byte, req model.Request) []byte {
	var pendingImages []byte // of tool results
	for i, m := range req.Messages {
		if i > 0 {
			b = append(b, ',')
		}
		if len(m.Images) > 0 {
			m = m.WithImageNotes(req.TextOnly)
		}
		switch m.Role {
		case model.RoleSystem:
			b = append(wire.AppendField(b, `{"role":"system","content":`, m.Text), '}')
		case model.RoleAssistant:
			b = appendAssistant(b, m)
		case model.RoleTool:
			b = wire.AppendField(b, `{"role":"tool","content":`, m.Text)
			if m.ToolCallID != "" {
				b = wire.AppendField(b, `,"tool_call_id":`, m.ToolCallID)
			}
			b = append(b, '}')
			pendingImages = appendToolImages(pendingImages, m)
		default:
			b = appendUser(b, m)
		}
		// A tool message may only contain text, and the answers to one message's calls must be consecutive: the
		// images follow in a separate message.
		lastResult := i+1 == len(req.Messages) || req.Messages[i+1].Role != model.RoleTool
		if lastResult && len(pendingImages) > 0 {
			b = append(b, `,{"role":"user","content":[`...)
			b = append(append(b, pendingImages...), "]}"...)
			pendingImages = nil
		}
	}
	return b
}

func appendUser(b []byte, m model.Message) []byte {
	if len(m.Images) == 0 {
		return append(wire.AppendField(b, `{"role":"user","content":`, m.Text), '}')
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

func appendText(parts []byte, text string) []byte {
	return append(wire.AppendField(wire.AppendComma(parts), `{"type":"text","text":`, text), '}')
}

func appendImages(parts []byte, images []model.Image) []byte {
	for i := range images {
		parts = wire.AppendComma(parts)
		parts = wire.AppendField(parts, `{"type":"image_url","image_url":{"url":`, wire.DataURL(images[i]))
		parts = append(parts, "}}"...)
	}
	return parts
}

// appendAssistant appends a message of the model. A message with only tool calls has no content.
func appendAssistant(b []byte, m model.Message) []byte {
	b = append(b, `{"role":"assistant"`...)
	switch {
	case m.Text != "":
		b = wire.AppendField(b, `,"content":`, m.Text)
	case len(m.ToolCalls) == 0 && m.Refusal == "":
		// Providers reject an empty assistant message, but the history may contain an empty reply.
		b = append(b, `,"content":"(no answer)"`...)
	}
	if m.Refusal != "" {
		b = wire.AppendField(b, `,"refusal":`, m.Refusal)
	}
	for i, call := range m.ToolCalls {
		if i == 0 {
			b = append(b, `,"tool_calls":[`...)
		} else {
			b = append(b, ',')
		}
		b = wire.AppendField(b, `{"id":`, call.ID)
		b = wire.AppendField(b, `,"type":"function","function":{"name":`, wire.SendableName(call.Name))
		b = append(wire.AppendField(b, `,"arguments":`, wire.SendableArguments(call)), "}}"...)
	}
	if len(m.ToolCalls) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}
