// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model/conformance"
)

func TestRequestBody(t *testing.T) {
	client, server := subject().Play(t, conformance.Reply("text: Three."))
	if _, err := client.Complete(t.Context(), conformance.FullRequest(), nil); err != nil {
		t.Fatalf("complete: %v", err)
	}
	request := server.Requests()[0]
	if request.IdempotencyKey != "agent-1/7" || !request.Authorized {
		t.Errorf("headers: %+v", request)
	}
	var got, want any
	if err := json.Unmarshal(request.Body, &got); err != nil {
		t.Fatal(err)
	}
	const body = `{
	  "model": "scripted", "stream": true, "stream_options": {"include_usage": true},
	  "temperature": 0.2, "max_tokens": 4096, "tool_choice": "auto",
	  "tools": [
	    {"type": "function", "function": {"name": "read_image", "description": "Reads an image.",
	      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}},
	    {"type": "function", "function": {"name": "current_time"}}],
	  "messages": [
	    {"role": "system", "content": "You are helpful."},
	    {"role": "user", "content": [{"type": "text", "text": "What is on these?"},
	      {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgpmaXJzdA=="}}]},
	    {"role": "assistant", "content": "I look.", "tool_calls": [
	      {"id": "a", "type": "function", "function": {"name": "read_image", "arguments": "{\"path\":\"a.png\"}"}},
	      {"id": "b", "type": "function", "function": {"name": "functions_read_image", "arguments": "{\"invalid_arguments\":\"{\\\"path\\\": \"}"}},
	      {"id": "c/1:2", "type": "function", "function": {"name": "unnamed", "arguments": "{}"}}]},
	    {"role": "tool", "tool_call_id": "a", "content": "1 image"},
	    {"role": "tool", "tool_call_id": "b", "content": "bad arguments"},
	    {"role": "tool", "tool_call_id": "c/1:2", "content": ""},
	    {"role": "user", "content": [{"type": "text", "text": "Image result of tool call a:"},
	      {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,/9j/c2Vjb25k"}}]},
	    {"role": "assistant", "content": "(no answer)"},
	    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,/9j/c2Vjb25k"}}]},
	    {"role": "user", "content": "And then?"},
	    {"role": "assistant", "refusal": "I cannot."},
	    {"role": "user", "content": "How many files are there?"}]}`
	if err := json.Unmarshal([]byte(body), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}
