// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"strings"
)

type geminiEnd struct {
	reason, message string
	// blocked means that there is no reply, because the request was blocked.
	blocked bool
}

// end returns how the reply ends. Arguments that are not an object cannot be sent; the API drops such calls.
func (*geminiRequest) end(p *response) geminiEnd {
	for _, call := range p.calls {
		if !isObject(json.RawMessage(call.arguments)) {
			return geminiEnd{reason: "MALFORMED_FUNCTION_CALL", message: "Malformed function call: " + call.name + call.arguments}
		}
	}
	if p.refusal != "" {
		return geminiEnd{reason: "SAFETY", message: p.refusal}
	}
	switch reason := p.finishReason(); reason {
	case finishStop, finishToolCalls:
		return geminiEnd{reason: "STOP"}
	case finishLength:
		return geminiEnd{reason: "MAX_TOKENS"}
	case finishFiltered:
		return geminiEnd{reason: "SAFETY", blocked: p.text == "" && p.reasoning == ""}
	default:
		return geminiEnd{reason: strings.ToUpper(reason)}
	}
}

// parts returns the parts of a reply, each text in pieces of the given number of characters, or whole if it is 0.
func (r *geminiRequest) parts(p *response, size int) []map[string]any {
	parts := []map[string]any{}
	add := func(text string, thought bool) {
		pieces := []string{text}
		if size > 0 {
			pieces = split(text, size)
		}
		for _, piece := range pieces {
			part := map[string]any{"text": piece}
			if thought {
				part["thought"] = true
			}
			parts = append(parts, part)
		}
	}
	if p.reasoning != "" {
		add(p.reasoning, true)
	}
	if p.text != "" {
		add(p.text, false)
	}
	end := r.end(p)
	if len(p.calls) == 0 || end.reason == "MALFORMED_FUNCTION_CALL" {
		if n := len(parts); n > 0 && p.text != "" && p.reasoning != "" {
			parts[n-1]["thoughtSignature"] = seal("thought", "|"+p.id)
		}
		return parts
	}
	for i, call := range p.calls {
		function := map[string]any{"name": call.name, "args": json.RawMessage(call.arguments)}
		if call.id != "" {
			function["id"] = call.id
		}
		part := map[string]any{"functionCall": function}
		if i == 0 { // parallel calls have one signature
			part["thoughtSignature"] = seal("thought", call.name+"|"+p.id)
		}
		parts = append(parts, part)
	}
	return parts
}

// body returns a response with some parts. Only the last one has the end and the usage.
func (r *geminiRequest) body(p *response, parts []map[string]any, last bool) map[string]any {
	body := map[string]any{"modelVersion": r.model, "responseId": p.id}
	end := r.end(p)
	candidate := map[string]any{"index": 0}
	if len(parts) > 0 {
		candidate["content"] = map[string]any{"role": "model", "parts": parts}
	}
	if last {
		candidate["finishReason"] = end.reason
		if end.message != "" {
			candidate["finishMessage"] = end.message
		}
		if p.usage != nil {
			body["usageMetadata"] = geminiUsage(p.usage)
		}
	}
	if end.blocked {
		body["promptFeedback"] = map[string]any{"blockReason": "SAFETY"}
		return body
	}
	body["candidates"] = []any{candidate}
	return body
}

// geminiUsage returns the usage of a reply. The candidates' tokens do not include the reasoning's.
func geminiUsage(u *tokenUsage) map[string]any {
	usage := map[string]any{
		"promptTokenCount": u.prompt, "candidatesTokenCount": u.completion - u.reasoning, "totalTokenCount": u.prompt + u.completion,
	}
	if u.cached > 0 {
		usage["cachedContentTokenCount"] = u.cached
	}
	if u.reasoning > 0 {
		usage["thoughtsTokenCount"] = u.reasoning
	}
	return usage
}

func (r *geminiRequest) plain(p *response) any { return r.body(p, r.parts(p, 0), true) }

// contentType is that of events or, without alt=sse, of a list.
func (r *geminiRequest) contentType() string {
	if r.events {
		return eventStream
	}
	return "application/json"
}

func (r *geminiRequest) failedFrame(e *apiError) []byte {
	_, body := gemini{}.failed(e)
	if r.events {
		return frame("", body)
	}
	return append(listFrame(",\r\n", body), ']')
}

// stream returns the responses of a streamed reply: one for each part, and the end.
func (r *geminiRequest) stream(p *response) [][]byte {
	size := p.script.ChunkSize
	if size == 0 {
		size = defaultChunkSize
	}
	var bodies []any
	for _, part := range r.parts(p, size) {
		bodies = append(bodies, r.body(p, []map[string]any{part}, false))
	}
	bodies = append(bodies, r.body(p, nil, true))
	frames := make([][]byte, 0, len(bodies))
	for i, body := range bodies {
		switch {
		case r.events:
			frames = append(frames, frame("", body))
		case i == 0:
			frames = append(frames, listFrame("[", body))
		default:
			frames = append(frames, listFrame(",\r\n", body))
		}
	}
	if !r.events {
		frames[len(frames)-1] = append(frames[len(frames)-1], "]\r\n"...)
	}
	return frames
}

func listFrame(before string, v any) []byte {
	return append([]byte(before), encode(v)...)
}
