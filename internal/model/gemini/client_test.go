// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gemini_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/conformance"
	"github.com/nestor-dev/nestor/internal/model/gemini"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

const png = "\x89PNG\r\n\x1a\nfirst"

func send(t testing.TB, body string) model.Client {
	t.Helper()
	return subject().Connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
}

func TestRequestBody(t *testing.T) {
	temperature := 0.2
	req := model.Request{
		Model: "scripted",
		Messages: []model.Message{
			{Role: model.RoleSystem, Text: "You are helpful."},
			{Role: model.RoleSystem, Text: "Be brief."},
			{Role: model.RoleAssistant, Text: "Hello."},
			{Role: model.RoleAssistant, Text: "Hello again."},
			{Role: model.RoleUser, Text: "What <is> on these?", Images: []model.Image{{MediaType: "image/png", Data: []byte(png)}, {MediaType: "image/gif", Data: []byte("GIF89a")}}},
			{Role: model.RoleUser},
			{Role: model.RoleAssistant, Text: "I look.", ToolCalls: []model.ToolCall{
				{ID: "a", Name: "read image", Arguments: `{"n":12345678901234567890}`},
				{ID: "call-2", Name: "1ls", Arguments: `{"path": `, ArgumentsError: "the arguments are not a JSON object"},
			}},
			{Role: model.RoleTool, ToolCallID: "call-2", Text: ""},
			{Role: model.RoleTool, ToolCallID: "a", Text: "1 image", Images: []model.Image{{MediaType: "image/png", Data: []byte(png)}}},
			{Role: model.RoleUser, Text: "And?"},
			{Role: model.RoleAssistant},
			{Role: model.RoleUser, Text: "How many files are there?"},
		},
		Tools: []model.Tool{
			{Name: "read_image", Description: "Reads an image.", Parameters: json.RawMessage(`{"type":"object","required":["path"]}`)},
			{Name: "ls"},
		},
		ToolChoice: "required", Temperature: &temperature, MaxOutputTokens: 512,
	}
	const image = `{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgpmaXJzdA=="}}`
	const body = `{
	  "systemInstruction": {"parts": [{"text": "You are helpful."}, {"text": "Be brief."}]},
	  "tools": [{"functionDeclarations": [
	    {"name": "read_image", "description": "Reads an image.", "parametersJsonSchema": {"type": "object", "required": ["path"]}}, {"name": "ls"}]}],
	  "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
	  "generationConfig": {"temperature": 0.2, "maxOutputTokens": 512},
	  "contents": [
	    {"role": "user", "parts": [{"text": "(no message)"}]},
	    {"role": "model", "parts": [{"text": "Hello."}, {"text": "Hello again."}]},
	    {"role": "user", "parts": [{"text": "What <is> on these?\n[There is an image here (image/gif, 6 bytes), which you cannot see: images are not shown to you.]"}, ` + image + `]},
	    {"role": "user", "parts": [{"text": "(empty message)"}]},
	    {"role": "model", "parts": [{"text": "I look."},
	      {"functionCall": {"id": "a", "name": "read_image", "args": {"n": 12345678901234567890}}, "thoughtSignature": "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="},
	      {"functionCall": {"name": "_1ls", "args": {"invalid_arguments": "{\"path\": "}}}]},
	    {"role": "user", "parts": [
	      {"functionResponse": {"id": "a", "name": "read_image", "response": {"output": "1 image"}}},
	      {"functionResponse": {"name": "_1ls", "response": {"output": ""}}}, ` + image + `]},
	    {"role": "user", "parts": [{"text": "And?"}]},
	    {"role": "model", "parts": [{"text": "(no answer)"}]},
	    {"role": "user", "parts": [{"text": "How many files are there?"}]}]}`
	client, server := subject().Play(t, conformance.Reply("text: Three."))
	if _, err := client.Complete(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decode(t, []byte(body)), decode(t, server.Requests()[0].Body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// decode decodes JSON with exact numbers.
func decode(t *testing.T, data []byte) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func sentThinking(t *testing.T, server *scripted.Server) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, request := range server.Requests() {
		var body struct {
			GenerationConfig struct {
				ThinkingConfig map[string]any `json:"thinkingConfig"`
			} `json:"generationConfig"`
		}
		if err := json.Unmarshal(request.Body, &body); err != nil {
			t.Fatal(err)
		}
		all = append(all, body.GenerationConfig.ThinkingConfig)
	}
	return all
}

func TestThinking(t *testing.T) {
	level := func(level string) map[string]any {
		return map[string]any{"includeThoughts": true, "thinkingLevel": level}
	}
	budget := func(tokens float64) map[string]any {
		return map[string]any{"includeThoughts": true, "thinkingBudget": tokens}
	}
	for name, tc := range map[string]struct {
		model  string
		effort model.ReasoningEffort
		limit  int64
		want   map[string]any
	}{
		"nothing is sent by default": {"gemini-3-pro", "", 0, nil},
		"half of a small limit":      {"gemini-2.5-pro", model.EffortHigh, 4000, budget(2000)},
		"none":                       {"gemini-3-flash", model.EffortNone, 0, map[string]any{"thinkingLevel": "MINIMAL"}},
		"low":                        {"gemini-3-pro", model.EffortLow, 0, level("LOW")},
		"medium":                     {"gemini-3-flash", model.EffortMedium, 0, level("MEDIUM")},
		"high":                       {"gemini-3-pro", model.EffortHigh, 0, level("HIGH")},
		"none of an old model":       {"gemini-2.5-flash", model.EffortNone, 0, map[string]any{"thinkingBudget": 0.0}},
		"low of an old model":        {"gemini-2.5-pro", model.EffortLow, 0, budget(1024)},
		"medium of an old model":     {"models/gemini-2.5-pro", model.EffortMedium, 0, budget(8192)},
		"high of an old model":       {"gemini-2.5-pro", model.EffortHigh, 0, budget(24576)},
	} {
		t.Run(name, func(t *testing.T) {
			client, server := subject().Play(t, conformance.Reply("text: Three."))
			req := conformance.Question()
			req.Model, req.ReasoningEffort, req.MaxOutputTokens = tc.model, tc.effort, tc.limit
			if _, err := client.Complete(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, sentThinking(t, server)[0]); diff != "" {
				t.Errorf("thinking (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDialectIsLearnedOnce(t *testing.T) {
	const script = `
rules:
- times: 1
  reply: {error: {status: 400, message: "Thinking level MEDIUM is not supported for this model. Please retry with other thinking level."}}
- times: 1
  reply: {error: {status: 400, message: "Budget 8192 is invalid. This model does not support thinking."}}
- reply: {text: Three.}
`
	client, server := subject().Play(t, script)
	req := conformance.Question()
	req.ReasoningEffort, req.IdempotencyKey = model.EffortMedium, "agent-1/7"
	for range 2 {
		if _, err := client.Complete(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	want := []map[string]any{
		{"includeThoughts": true, "thinkingLevel": "MEDIUM"}, {"includeThoughts": true, "thinkingBudget": 8192.0}, nil,
		nil, // the second call uses the learned dialect
	}
	if diff := cmp.Diff(want, sentThinking(t, server)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	keys := map[string]bool{}
	for _, request := range server.Requests() {
		keys[request.IdempotencyKey] = true
	}
	if len(keys) != 3 {
		t.Errorf("idempotency keys %v, want one for each dialect", keys)
	}
}

func loop(items ...model.ReasoningItem) model.Request {
	req := conformance.Question()
	req.Tools = []model.Tool{{Name: "ls"}}
	req.Messages = append(req.Messages,
		model.Message{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{ID: "a", Name: "ls", Arguments: "{}"}}, ReasoningItems: items},
		model.Message{Role: model.RoleTool, ToolCallID: "a", Text: "go.mod"})
	return req
}

// TestMissingSignatureIsReplaced: a model of an old generation may demand signatures too.
func TestMissingSignatureIsReplaced(t *testing.T) {
	client, server := subject().Play(t, conformance.Reply("text: Three."))
	req := loop()
	req.Model = "gemini-2.5-next"
	for range 2 {
		if _, err := client.Complete(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(server.Requests()); n != 3 {
		t.Errorf("%d requests, want two for the first call and one for the second", n)
	}
}

// TestRejectedSignatureIsLeftOut: a signature that the API no longer accepts, for example with another key, must not
// make a conversation unusable.
func TestRejectedSignatureIsLeftOut(t *testing.T) {
	client, server := subject().Play(t, conformance.Reply("text: Three."))
	req := loop(model.ReasoningItem{API: model.Gemini, Model: "scripted", Call: "a", Data: json.RawMessage(`"Zm9yZ2Vk"`)})
	if got, err := client.Complete(t.Context(), req, nil); err != nil || got.Text != "Three." {
		t.Fatalf("got %+v, %v", got, err)
	}
	requests := server.Requests()
	if len(requests) != 2 || strings.Contains(string(requests[1].Body), "Zm9yZ2Vk") {
		t.Errorf("%d requests; the last is %s", len(requests), requests[len(requests)-1].Body)
	}
}

func TestSignaturesKeepTheirPlace(t *testing.T) {
	const reply = `[{"candidates":[{"content":{"parts":[{"text":"Where?","thought":true},{"text":"I "},{"text":"look.","thoughtSignature":"dGV4dA=="}]}}]},
	  {"responseId":"r","modelVersion":"v","candidates":[{"content":{"parts":[
	    {"functionCall":{"name":"ls","args":{ "path": "." }},"thoughtSignature":"Y2FsbA=="},{"functionCall":{"name":"ls"}}]},"finishReason":"STOP"}],
	    "usageMetadata":{"promptTokenCount":7,"toolUsePromptTokenCount":3,"cachedContentTokenCount":4,"candidatesTokenCount":5,"thoughtsTokenCount":6,"totalTokenCount":21}}]`
	got, err := send(t, reply).Complete(t.Context(), conformance.Question(), nil)
	if err != nil {
		t.Fatal(err)
	}
	item := func(call, data string) model.ReasoningItem {
		return model.ReasoningItem{API: model.Gemini, Model: "scripted", Call: call, Data: json.RawMessage(data)}
	}
	want := model.Reply{
		ID: "r", Model: "v", Text: "I look.", Reasoning: "Where?", FinishReason: model.FinishToolCalls,
		ToolCalls:      []model.ToolCall{{ID: "call-1", Name: "ls", Arguments: `{"path":"."}`}, {ID: "call-2", Name: "ls", Arguments: "{}"}},
		ReasoningItems: []model.ReasoningItem{item("", `"dGV4dA=="`), item("call-1", `"Y2FsbA=="`)},
		Usage:          &model.Usage{PromptTokens: 10, CachedTokens: 4, CompletionTokens: 11, ReasoningTokens: 6, TotalTokens: 21},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}

	lenient := conformance.NewServer(t, conformance.Reply("text: Three."), scripted.Options{Lenient: true})
	next := conformance.Question()
	next.Messages = append(next.Messages, got.Message(),
		model.Message{Role: model.RoleTool, ToolCallID: "call-1", Text: "1"}, model.Message{Role: model.RoleTool, ToolCallID: "call-2", Text: "2"})
	if _, err := subject().Connect(t, lenient).Complete(t.Context(), next, nil); err != nil {
		t.Fatal(err)
	}
	const turn = `{"role":"model","parts":[{"text":"I look.","thoughtSignature":"dGV4dA=="},{"functionCall":{"name":"ls","args":{"path":"."}},"thoughtSignature":"Y2FsbA=="},` +
		`{"functionCall":{"name":"ls","args":{}}}]}`
	if body := string(lenient.Requests()[0].Body); !strings.Contains(body, turn) {
		t.Errorf("the turn is not sent back as it was: %s", body)
	}
}

// TestMalformedCall: the API does not return a call that it could not parse, so the reply is worth another attempt.
func TestMalformedCall(t *testing.T) {
	for _, reason := range []string{"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"} {
		_, err := send(t, `{"candidates":[{"finishReason":"`+reason+`","finishMessage":"Malformed function call: ls("}],"usageMetadata":{"promptTokenCount":9,"totalTokenCount":12}}`).Complete(t.Context(), conformance.Question(), nil)
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Kind != model.Malformed || failed.Message != "Malformed function call: ls(" || failed.Usage == nil || failed.Usage.TotalTokens != 12 {
			t.Errorf("%s: got %+v", reason, failed)
		}
	}
	client, _ := subject().Play(t, `rules: [{reply: {toolCalls: [{name: ls, arguments: "{broken"}]}}]`)
	var failed *model.Error
	if _, err := client.Complete(t.Context(), conformance.Question(), nil); !errors.As(err, &failed) || failed.Kind != model.Malformed || !failed.Retryable() {
		t.Errorf("got %v, want Malformed", err)
	}
}

func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]model.FinishReason{
		"STOP": model.FinishStop, "MAX_TOKENS": model.FinishLength, "SAFETY": model.FinishContentFilter, "RECITATION": model.FinishContentFilter,
		"BLOCKLIST": model.FinishContentFilter, "PROHIBITED_CONTENT": model.FinishContentFilter, "SPII": model.FinishContentFilter,
		"LANGUAGE": model.FinishContentFilter, "OTHER": "other",
	} {
		got, err := send(t, `{"candidates":[{"content":{"parts":[{"text":"There"}]},"finishReason":"`+reason+`"}]}`).Complete(t.Context(), conformance.Question(), nil)
		if err != nil || got.FinishReason != want || got.Text != "There" {
			t.Errorf("%s: got %+v, %v", reason, got, err)
		}
	}
	got, err := send(t, `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9,"totalTokenCount":9}}`).Complete(t.Context(), conformance.Question(), nil)
	if err != nil || got.Outcome() != model.OutcomeFiltered || got.Usage == nil || got.Usage.TotalTokens != 9 {
		t.Errorf("a blocked request: %+v, %v", got, err)
	}
}

func TestOddUsageIsReadOrUnknown(t *testing.T) {
	for text, want := range map[string]*model.Usage{
		`"promptTokenCount":9,"candidatesTokenCount":2`:                                   {PromptTokens: 9, CompletionTokens: 2, TotalTokens: 11},
		`"promptTokenCount":9,"totalTokenCount":11`:                                       {PromptTokens: 9, CompletionTokens: 2, TotalTokens: 11},
		`"promptTokenCount":"9","candidatesTokenCount":1.5`:                               {PromptTokens: 9, CompletionTokens: 2, TotalTokens: 11},
		`"promptTokenCount":9,"thoughtsTokenCount":2`:                                     {PromptTokens: 9, CompletionTokens: 2, ReasoningTokens: 2, TotalTokens: 11},
		`"promptTokenCount":9,"candidatesTokenCount":2,"cachedContentTokenCount":1000000`: {PromptTokens: 9, CachedTokens: 9, CompletionTokens: 2, TotalTokens: 11},
		`"promptTokenCount":99999999999999999999,"candidatesTokenCount":1`:                {PromptTokens: 1 << 40, CompletionTokens: 1, TotalTokens: 1<<40 + 1},
		`"promptTokenCount":9`:                                                            nil,
		`"candidatesTokenCount":9`:                                                        nil,
		`"promptTokenCount":-9,"totalTokenCount":"many"`:                                  nil,
	} {
		got, err := send(t, `{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":{`+text+`}}`).Complete(t.Context(), conformance.Question(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Usage); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestAddresses(t *testing.T) {
	client, err := gemini.NewClient(wire.Endpoint{})
	if err != nil || client.Host() != "generativelanguage.googleapis.com" {
		t.Errorf("the default host is %q, %v", client.Host(), err)
	}
	var received []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received = append(received, r.URL.EscapedPath()+"?"+r.URL.RawQuery)
		fmt.Fprint(w, `{"candidates":[{"finishReason":"STOP"}]}`)
	}))
	defer server.Close()
	for _, tc := range []struct{ base, model, want string }{
		{"", "m", "/v1beta/models/m:streamGenerateContent?alt=sse"},
		{"/", "models/m", "/v1beta/models/m:streamGenerateContent?alt=sse"},
		{"/v1beta", "tunedModels/m", "/v1beta/tunedModels/m:streamGenerateContent?alt=sse"},
		{"/gateway/v1/?tenant=a", "m", "/gateway/v1/models/m:streamGenerateContent?alt=sse&tenant=a"},
		{"", "m?key=x", "/v1beta/models/m%3Fkey=x:streamGenerateContent?alt=sse"},
		{"", "../../files/a#b", "/v1beta/models/..%2F..%2Ffiles%2Fa%23b:streamGenerateContent?alt=sse"},
	} {
		received = nil
		client, err := gemini.NewClient(wire.Endpoint{BaseURL: server.URL + tc.base})
		if err != nil {
			t.Fatal(err)
		}
		req := conformance.Question()
		req.Model = tc.model
		if _, err := client.Complete(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		if len(received) != 1 || received[0] != tc.want {
			t.Errorf("base %q, model %q: the requests are %v, want %s", tc.base, tc.model, received, tc.want)
		}
	}
}
