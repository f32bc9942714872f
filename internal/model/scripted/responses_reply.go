// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"fmt"
	"maps"
	"slices"
)

func (r *responsesRequest) output(p *response) []map[string]any {
	items := []map[string]any{}
	mark := ""
	if p.reasoning != "" {
		mark = reasonedMark
		items = append(items, r.reasoningItem(p))
	}
	if parts := p.parts(); len(parts) > 0 {
		items = append(items, map[string]any{"type": itemMessage, "id": "msg_" + mark + p.id, "status": "completed", "role": "assistant", "content": parts})
	}
	for i, call := range p.calls {
		items = append(items, map[string]any{
			"type": itemCall, "id": fmt.Sprintf("fc_%s%s_%d", mark, p.id, i+1), "status": "completed",
			"call_id": call.id, "name": call.name, "arguments": call.arguments,
		})
	}
	return items
}

func (r *responsesRequest) reasoningItem(p *response) map[string]any {
	item := map[string]any{
		"type": itemReasoning, "id": "rs_" + p.id, "summary": []any{map[string]any{"type": "summary_text", "text": p.reasoning}},
	}
	if slices.Contains(r.Include, "reasoning.encrypted_content") {
		item["encrypted_content"] = seal("reasoning", "rs_"+p.id+"|"+p.reasoning)
	}
	return item
}

func (p *response) parts() []map[string]any {
	var parts []map[string]any
	if p.text != "" || p.refusal == "" && p.reasoning == "" && len(p.calls) == 0 {
		parts = append(parts, map[string]any{"type": "output_text", "text": p.text, "annotations": []any{}, "logprobs": []any{}})
	}
	if p.refusal != "" {
		parts = append(parts, map[string]any{"type": "refusal", "refusal": p.refusal})
	}
	return parts
}

// ending returns the status of a finished response, and why it is incomplete.
func (p *response) ending() (status string, incomplete any) {
	switch p.finishReason() {
	case finishLength:
		return "incomplete", map[string]any{"reason": "max_output_tokens"}
	case finishFiltered:
		return "incomplete", map[string]any{"reason": "content_filter"}
	}
	return "completed", nil
}

// object returns the response in one of its states. Only the last has output and usage.
func (r *responsesRequest) object(p *response, status string, output []map[string]any) map[string]any {
	body := map[string]any{
		"id": "resp_" + p.id, "object": "response", "created_at": created, "status": status, "background": false, "error": nil,
		"incomplete_details": nil, "instructions": nil, "max_output_tokens": r.MaxOutputTokens, "metadata": map[string]any{}, "model": r.Model,
		"output": output, "parallel_tool_calls": true, "previous_response_id": nil, "store": r.Store == nil || *r.Store,
		"temperature": r.Temperature, "text": map[string]any{"format": map[string]any{"type": "text"}}, "tool_choice": "auto", "tools": []any{},
		"top_p": nil, "truncation": "disabled", "usage": nil, "user": nil,
	}
	if r.Reasoning != nil {
		body["reasoning"] = map[string]any{"effort": r.Reasoning.Effort, "summary": r.Reasoning.Summary}
	}
	if status == "in_progress" {
		return body
	}
	if u := p.usage; u != nil {
		body["usage"] = map[string]any{
			"input_tokens": u.prompt, "input_tokens_details": map[string]any{"cached_tokens": u.cached},
			"output_tokens": u.completion, "output_tokens_details": map[string]any{"reasoning_tokens": u.reasoning},
			"total_tokens": u.prompt + u.completion,
		}
	}
	_, body["incomplete_details"] = p.ending()
	return body
}

func (r *responsesRequest) plain(p *response) any {
	status, _ := p.ending()
	return r.object(p, status, r.output(p))
}

func (*responsesRequest) contentType() string { return eventStream }

// failedFrame reports an error inside a stream: the response failed.
func (r *responsesRequest) failedFrame(e *apiError) []byte {
	code := e.code
	if code == "" {
		code = "server_error"
	}
	body := r.object(&response{script: &reply{}, id: "failed"}, "failed", []map[string]any{})
	body["error"] = map[string]any{"code": code, "message": newOpenAIError(e).Message}
	return frame("response.failed", map[string]any{"type": "response.failed", "response": body})
}

// responsesStream builds the events of a reply.
type responsesStream struct {
	frames [][]byte
	size   int // of a chunk
	// index is that of the item; id is its ID.
	index int
	id    any
}

func (s *responsesStream) add(name string, fields map[string]any) {
	fields["type"], fields["sequence_number"] = name, len(s.frames)
	s.frames = append(s.frames, frame(name, fields))
}

// addTo adds an event about the current item.
func (s *responsesStream) addTo(name string, fields map[string]any) {
	fields["item_id"], fields["output_index"] = s.id, s.index
	s.add(name, fields)
}

// deltas sends text in pieces and then the whole. The names are those of the event and of the field.
func (s *responsesStream) deltas(name, field, text string, at map[string]any) {
	for _, piece := range split(text, s.size) {
		s.addTo(name+".delta", with(at, "delta", piece))
	}
	s.addTo(name+".done", with(at, field, text))
}

func with(fields map[string]any, name string, value any) map[string]any {
	out := make(map[string]any, len(fields)+3)
	maps.Copy(out, fields)
	out[name] = value
	return out
}

// addItem sends an item: without its content, the content in pieces, and the whole.
func (s *responsesStream) addItem(item map[string]any, p *response) {
	s.id = item["id"]
	begin := func(item map[string]any) {
		s.add("response.output_item.added", map[string]any{"output_index": s.index, "item": item})
	}
	switch item["type"] {
	case itemReasoning:
		begin(with(item, "summary", []any{}))
		s.addSummary(p.reasoning)
	case itemCall:
		begin(with(with(item, "status", "in_progress"), "arguments", ""))
		arguments, _ := item["arguments"].(string)
		s.deltas("response.function_call_arguments", "arguments", arguments, nil)
	default:
		begin(with(with(item, "status", "in_progress"), "content", []any{}))
		s.addParts(p.parts())
	}
	s.add("response.output_item.done", map[string]any{"output_index": s.index, "item": item})
	s.index++
}

func (s *responsesStream) addSummary(text string) {
	at := map[string]any{"summary_index": 0}
	s.addTo("response.reasoning_summary_part.added", with(at, "part", map[string]any{"type": "summary_text", "text": ""}))
	s.deltas("response.reasoning_summary_text", "text", text, at)
	s.addTo("response.reasoning_summary_part.done", with(at, "part", map[string]any{"type": "summary_text", "text": text}))
}

func (s *responsesStream) addParts(parts []map[string]any) {
	for i, part := range parts {
		at := map[string]any{"content_index": i}
		name, field := "response.output_text", "text"
		if part["type"] == "refusal" {
			name, field = "response.refusal", "refusal"
		}
		s.addTo("response.content_part.added", with(at, "part", with(part, field, "")))
		text, _ := part[field].(string)
		s.deltas(name, field, text, at)
		s.addTo("response.content_part.done", with(at, "part", part))
	}
}

func (r *responsesRequest) stream(p *response) [][]byte {
	s := &responsesStream{size: p.script.ChunkSize}
	s.add("response.created", map[string]any{"response": r.object(p, "in_progress", []map[string]any{})})
	s.add("response.in_progress", map[string]any{"response": r.object(p, "in_progress", []map[string]any{})})
	items := r.output(p)
	for _, item := range items {
		s.addItem(item, p)
	}
	status, _ := p.ending()
	s.add("response."+status, map[string]any{"response": r.object(p, status, items)})
	return s.frames
}
