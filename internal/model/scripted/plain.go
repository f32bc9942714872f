// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"net/http"
	"strconv"
)

func (p *response) sendRaw(w http.ResponseWriter) {
	for name, value := range p.script.Raw.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(p.status())
	_, _ = w.Write([]byte(p.script.Raw.Body))
}

// sendPlain sends a plain response, without a stream.
func (p *response) sendPlain(w http.ResponseWriter, r *http.Request) {
	message := map[string]any{"role": "assistant", "content": nil, "refusal": nil}
	if p.text != "" || len(p.calls) == 0 && p.refusal == "" {
		message["content"] = p.text
	}
	if p.reasoning != "" {
		message["reasoning_content"] = p.reasoning
	}
	if p.refusal != "" {
		message["refusal"] = p.refusal
	}
	if len(p.calls) > 0 {
		message["tool_calls"] = p.calls
	}
	body := map[string]any{
		"id": "chatcmpl-" + p.id, "object": "chat.completion", "created": created, "model": p.conv.Model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": p.finishReason(), "logprobs": nil}},
	}
	if p.usage != nil {
		body["usage"] = p.usage
	}
	if p.script.Fault != nil {
		p.sendFault(w, r, body)
		return
	}
	writeJSON(w, http.StatusOK, body)
}

// sendFault sends a plain response with a fault.
func (p *response) sendFault(w http.ResponseWriter, r *http.Request, body any) {
	if p.script.Fault.Kind == faultHang {
		<-r.Context().Done()
		return
	}
	data, err := json.Marshal(body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	if p.script.Fault.Kind == faultMalformed {
		_, _ = w.Write(data[:len(data)/2])
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data[:len(data)/2])
	panic(http.ErrAbortHandler)
}
