// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

// blocks returns the content of a reply. If the request enables thinking, every reply begins with it, as in the API;
// without reasoning in the script its text is empty.
func (r *anthropicRequest) blocks(p *response) []map[string]any {
	blocks := []map[string]any{}
	if p.reasoning != "" || r.Thinking.enabled() {
		blocks = append(blocks, map[string]any{"type": "thinking", "thinking": p.reasoning, "signature": signature("thinking", p.reasoning)})
	}
	for _, text := range []string{p.text, p.refusal} {
		if text != "" {
			blocks = append(blocks, map[string]any{"type": "text", "text": text})
		}
	}
	for _, call := range p.calls {
		blocks = append(blocks, map[string]any{"type": "tool_use", "id": call.id, "name": call.name, "input": call.input()})
	}
	return blocks
}

// stopReason returns the finish reason as the APIs of Anthropic and Bedrock name it, except for a filtered or refused
// reply.
func (p *response) stopReason(filtered string) string {
	if p.refusal != "" {
		return filtered
	}
	switch reason := p.finishReason(); reason {
	case finishStop:
		return "end_turn"
	case finishToolCalls:
		return "tool_use"
	case finishLength:
		return "max_tokens"
	case finishFiltered:
		return filtered
	default:
		return reason
	}
}

// anthropicUsage excludes cached tokens from the input.
func anthropicUsage(u *tokenUsage, output int64) map[string]any {
	return map[string]any{
		"input_tokens": u.prompt - u.cached - u.written, "cache_read_input_tokens": u.cached,
		"cache_creation_input_tokens": u.written, "output_tokens": output, "service_tier": "standard",
		"output_tokens_details": map[string]any{"thinking_tokens": min(u.reasoning, output)},
	}
}

func (r *anthropicRequest) plain(p *response) any {
	body := map[string]any{
		"id": "msg_" + p.id, "type": "message", "role": "assistant", "model": r.Model,
		"content": r.blocks(p), "stop_reason": p.stopReason("refusal"), "stop_sequence": nil,
	}
	if p.usage != nil {
		body["usage"] = anthropicUsage(p.usage, p.usage.completion)
	}
	return body
}

func (*anthropicRequest) contentType() string { return eventStream }

func (*anthropicRequest) failedFrame(e *apiError) []byte {
	_, body := anthropic{}.failed(e)
	return frame("error", body)
}

// anthropicStream builds the events of a reply.
type anthropicStream struct {
	frames    [][]byte
	index     int
	chunkSize int
}

func (s *anthropicStream) add(name string, fields map[string]any) {
	fields["type"] = name
	s.frames = append(s.frames, frame(name, fields))
}

func (s *anthropicStream) delta(kind, field, value string) {
	s.add("content_block_delta", map[string]any{"index": s.index, "delta": map[string]any{"type": kind, field: value}})
}

// addBlock sends a block: its beginning without content, the content in pieces, and its end.
func (s *anthropicStream) addBlock(block map[string]any, deltas func()) {
	s.add("content_block_start", map[string]any{"index": s.index, "content_block": block})
	if s.index == 0 {
		s.add("ping", map[string]any{})
	}
	deltas()
	s.add("content_block_stop", map[string]any{"index": s.index})
	s.index++
}

func (s *anthropicStream) addText(text string) {
	if text == "" {
		return
	}
	s.addBlock(map[string]any{"type": "text", "text": ""}, func() {
		for _, piece := range split(text, s.chunkSize) {
			s.delta("text_delta", "text", piece)
		}
	})
}

func (r *anthropicRequest) stream(p *response) [][]byte {
	s := &anthropicStream{chunkSize: p.script.ChunkSize}
	start := map[string]any{
		"id": "msg_" + p.id, "type": "message", "role": "assistant", "model": r.Model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil,
	}
	if p.usage != nil {
		start["usage"] = anthropicUsage(p.usage, min(p.usage.completion, 1))
	}
	s.add("message_start", map[string]any{"message": start})
	if p.reasoning != "" || r.Thinking.enabled() {
		s.addBlock(map[string]any{"type": "thinking", "thinking": "", "signature": ""}, func() {
			for _, piece := range split(p.reasoning, s.chunkSize) {
				s.delta("thinking_delta", "thinking", piece)
			}
			s.delta("signature_delta", "signature", signature("thinking", p.reasoning))
		})
	}
	s.addText(p.text)
	s.addText(p.refusal)
	for _, call := range p.calls {
		s.addBlock(map[string]any{"type": "tool_use", "id": call.id, "name": call.name, "input": map[string]any{}}, func() {
			s.delta("input_json_delta", "partial_json", "")
			for _, piece := range split(call.arguments, s.chunkSize) {
				s.delta("input_json_delta", "partial_json", piece)
			}
		})
	}
	end := map[string]any{"delta": map[string]any{"stop_reason": p.stopReason("refusal"), "stop_sequence": nil}}
	if p.usage != nil {
		end["usage"] = anthropicUsage(p.usage, p.usage.completion)
	}
	s.add("message_delta", end)
	s.add("message_stop", map[string]any{})
	return s.frames
}
