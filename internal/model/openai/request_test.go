// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model"
)

// fullRequest has every field, with awkward values. The scripted model is strict: if it answers, the real API accepts
// the request.
func fullRequest() model.Request {
	temperature := 0.2
	return model.Request{
		Model: "scripted",
		Messages: []model.Message{
			{Role: model.RoleSystem, Text: "You are helpful."},
			{Role: model.RoleUser, Text: "What is on these?", Images: []model.Image{{MediaType: "image/png", Data: []byte("first")}}},
			{Role: model.RoleAssistant, Text: "I look.", ToolCalls: []model.ToolCall{
				{ID: "a", Name: "read_image", Arguments: `{"path":"a.png"}`},
				{ID: "b", Name: "functions.read image", Arguments: `{"path": `, ArgumentsError: "the arguments are not a JSON object"},
				{ID: "c", Name: "", Arguments: `{}`},
			}},
			{Role: model.RoleTool, ToolCallID: "a", Text: "1 image", Images: []model.Image{{MediaType: "image/png", Data: []byte("second")}}},
			{Role: model.RoleTool, ToolCallID: "b", Text: "bad arguments"},
			{Role: model.RoleTool, ToolCallID: "c", Text: ""},
			{Role: model.RoleAssistant},
			{Role: model.RoleUser, Images: []model.Image{{MediaType: "image/jpeg", Data: []byte("third")}}},
			{Role: model.RoleAssistant, Refusal: "I cannot."},
			{Role: model.RoleUser, Text: "How many files are there?"},
		},
		Tools: []model.Tool{
			{Name: "read_image", Description: "Reads an image.", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
			{Name: "current_time"},
		},
		ToolChoice:      "auto",
		Temperature:     &temperature,
		MaxOutputTokens: 512,
		IdempotencyKey:  "agent-1/7",
	}
}

func TestRequestBody(t *testing.T) {
	client, server := playScript(t, reply("text: Three."))
	if _, err := client.Complete(t.Context(), fullRequest(), nil); err != nil {
		t.Fatalf("complete: %v", err)
	}
	asked := server.Requests()[0]
	if asked.IdempotencyKey != "agent-1/7" || !asked.Authorized {
		t.Errorf("headers: %+v", asked)
	}
	var got, want any
	if err := json.Unmarshal(asked.Body, &got); err != nil {
		t.Fatal(err)
	}
	const body = `{
	  "model": "scripted", "stream": true, "stream_options": {"include_usage": true},
	  "temperature": 0.2, "max_tokens": 512, "tool_choice": "auto",
	  "tools": [
	    {"type": "function", "function": {"name": "read_image", "description": "Reads an image.",
	      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}},
	    {"type": "function", "function": {"name": "current_time"}}],
	  "messages": [
	    {"role": "system", "content": "You are helpful."},
	    {"role": "user", "content": [{"type": "text", "text": "What is on these?"},
	      {"type": "image_url", "image_url": {"url": "data:image/png;base64,Zmlyc3Q="}}]},
	    {"role": "assistant", "content": "I look.", "tool_calls": [
	      {"id": "a", "type": "function", "function": {"name": "read_image", "arguments": "{\"path\":\"a.png\"}"}},
	      {"id": "b", "type": "function", "function": {"name": "functions_read_image", "arguments": "{\"invalid_arguments\":\"{\\\"path\\\": \"}"}},
	      {"id": "c", "type": "function", "function": {"name": "unnamed", "arguments": "{}"}}]},
	    {"role": "tool", "tool_call_id": "a", "content": "1 image"},
	    {"role": "tool", "tool_call_id": "b", "content": "bad arguments"},
	    {"role": "tool", "tool_call_id": "c", "content": ""},
	    {"role": "user", "content": [{"type": "text", "text": "Image result of tool call a:"},
	      {"type": "image_url", "image_url": {"url": "data:image/png;base64,c2Vjb25k"}}]},
	    {"role": "assistant", "content": "(no answer)"},
	    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,dGhpcmQ="}}]},
	    {"role": "assistant", "refusal": "I cannot."},
	    {"role": "user", "content": "How many files are there?"}]}`
	if err := json.Unmarshal([]byte(body), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}
