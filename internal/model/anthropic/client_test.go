// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/anthropic"
	"github.com/nestor-dev/nestor/internal/model/conformance"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

const png = "\x89PNG\r\n\x1a\nfirst"

// stream returns a client of a provider that sends these events.
func stream(t testing.TB, events ...string) model.Client {
	t.Helper()
	return subject().Connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, event := range events {
			fmt.Fprintf(w, "event: x\ndata: %s\n\n", event)
		}
	}))
}

func TestRequestBody(t *testing.T) {
	temperature := 1.5
	req := model.Request{
		Model: "scripted",
		Messages: []model.Message{
			{Role: model.RoleSystem, Text: "You are helpful."},
			{Role: model.RoleSystem, Text: "Be brief."},
			{Role: model.RoleAssistant, Text: "Hello."},
			{Role: model.RoleUser, Text: "What is on these?", Images: []model.Image{{MediaType: "image/png", Data: []byte(png)}}},
			{Role: model.RoleUser, Text: " "},
			{Role: model.RoleAssistant, Text: "I look.", ToolCalls: []model.ToolCall{
				{ID: "a/1", Name: "read image", Arguments: `{"path":"a.png"}`},
				{ID: "a_1", Name: "ls", Arguments: `{"path": `, ArgumentsError: "the arguments are not a JSON object"},
			}},
			{Role: model.RoleTool, ToolCallID: "a/1", Text: "1 image", Images: []model.Image{{MediaType: "image/png", Data: []byte(png)}}},
			{Role: model.RoleTool, ToolCallID: "a_1", Text: ""},
			{Role: model.RoleUser, Text: "And?"},
			{Role: model.RoleAssistant},
			{Role: model.RoleUser, Text: "How many files are there?"},
		},
		Tools: []model.Tool{
			{Name: "read_image", Description: "Reads an image.", Parameters: json.RawMessage(`{"type":"object","required":["path"]}`)},
			{Name: "ls"},
		},
		ToolChoice:  "required",
		Temperature: &temperature,
	}
	const image = `{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgpmaXJzdA=="}}`
	const mark = `, "cache_control": {"type": "ephemeral"}`
	const body = `{
	  "model": "scripted", "max_tokens": 32000, "stream": true, "temperature": 1, "tool_choice": {"type": "any"},
	  "tools": [
	    {"name": "read_image", "description": "Reads an image.", "input_schema": {"type": "object", "required": ["path"]}},
	    {"name": "ls", "input_schema": {"type": "object", "properties": {}}` + mark + `}],
	  "system": [{"type": "text", "text": "You are helpful."}, {"type": "text", "text": "Be brief."` + mark + `}],
	  "messages": [
	    {"role": "user", "content": [{"type": "text", "text": "(no message)"}]},
	    {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]},
	    {"role": "user", "content": [{"type": "text", "text": "What is on these?"}, ` + image + `, {"type": "text", "text": "(empty message)"}]},
	    {"role": "assistant", "content": [{"type": "text", "text": "I look."},
	      {"type": "tool_use", "id": "a_1", "name": "read_image", "input": {"path": "a.png"}},
	      {"type": "tool_use", "id": "a_1_2", "name": "ls", "input": {"invalid_arguments": "{\"path\": "}}]},
	    {"role": "user", "content": [
	      {"type": "tool_result", "tool_use_id": "a_1", "content": [{"type": "text", "text": "1 image"}, ` + image + `]},
	      {"type": "tool_result", "tool_use_id": "a_1_2", "content": ""},
	      {"type": "text", "text": "And?"` + mark + `}]},
	    {"role": "assistant", "content": [{"type": "text", "text": "(no answer)"}]},
	    {"role": "user", "content": [{"type": "text", "text": "How many files are there?"` + mark + `}]}]}`
	client, server := subject().Play(t, conformance.Reply("text: Three."))
	if _, err := client.Complete(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(server.Requests()[0].Body, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(body), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// sent are the fields of a request that depend on the dialect.
type sent struct {
	MaxTokens    int64            `json:"max_tokens"`
	Temperature  *float64         `json:"temperature"`
	Thinking     map[string]any   `json:"thinking"`
	OutputConfig map[string]any   `json:"output_config"`
	Tools        []map[string]any `json:"tools"`
	ToolChoice   map[string]any   `json:"tool_choice"`
}

func sentTo(t *testing.T, server *scripted.Server) []sent {
	t.Helper()
	var all []sent
	for _, request := range server.Requests() {
		var s sent
		if err := json.Unmarshal(request.Body, &s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func TestThinking(t *testing.T) {
	enabled := func(budget float64) map[string]any { return map[string]any{"type": "enabled", "budget_tokens": budget} }
	loop := func(items ...model.ReasoningItem) []model.Message {
		return append(conformance.Question().Messages,
			model.Message{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{ID: "a", Name: "ls", Arguments: "{}"}}, ReasoningItems: items},
			model.Message{Role: model.RoleTool, ToolCallID: "a", Text: "go.mod"},
			model.Message{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{ID: "b", Name: "ls", Arguments: "{}"}}},
			model.Message{Role: model.RoleTool, ToolCallID: "b", Text: "go.mod"},
			model.Message{Role: model.RoleUser, Text: "Hurry."})
	}
	redacted := model.ReasoningItem{API: model.Anthropic, Model: "scripted", Data: json.RawMessage(`{"type":"redacted_thinking","data":"YQ=="}`)}
	foreign := redacted
	foreign.Model = "another"
	tools := []model.Tool{{Name: "ls"}}
	for name, tc := range map[string]struct {
		req  model.Request
		want map[string]any
	}{
		"nothing is sent by default":        {model.Request{}, nil},
		"none":                              {model.Request{ReasoningEffort: model.EffortNone}, map[string]any{"type": "disabled"}},
		"low":                               {model.Request{ReasoningEffort: model.EffortLow}, enabled(2048)},
		"medium":                            {model.Request{ReasoningEffort: model.EffortMedium}, enabled(8192)},
		"high":                              {model.Request{ReasoningEffort: model.EffortHigh}, enabled(16000)},
		"half of a small limit":             {model.Request{ReasoningEffort: model.EffortHigh, MaxOutputTokens: 4000}, enabled(2000)},
		"the least":                         {model.Request{ReasoningEffort: model.EffortHigh, MaxOutputTokens: 1100}, enabled(1024)},
		"not with a limit below the least":  {model.Request{ReasoningEffort: model.EffortHigh, MaxOutputTokens: 1024}, nil},
		"not with a forced call":            {model.Request{ReasoningEffort: model.EffortHigh, Tools: tools, ToolChoice: "required"}, nil},
		"with a choice":                     {model.Request{ReasoningEffort: model.EffortLow, Tools: tools, ToolChoice: "auto"}, enabled(2048)},
		"in a loop that began with it":      {model.Request{ReasoningEffort: model.EffortLow, Tools: tools, Messages: loop(redacted)}, enabled(2048)},
		"not in a loop that began without":  {model.Request{ReasoningEffort: model.EffortLow, Tools: tools, Messages: loop()}, nil},
		"not in a loop of another provider": {model.Request{ReasoningEffort: model.EffortLow, Tools: tools, Messages: loop(foreign)}, nil},
		"again after such a loop": {model.Request{ReasoningEffort: model.EffortLow, Tools: tools, Messages: append(loop(),
			model.Message{Role: model.RoleAssistant, Text: "One."}, model.Message{Role: model.RoleUser, Text: "Sure?"})}, enabled(2048)},
	} {
		t.Run(name, func(t *testing.T) {
			client, server := subject().Play(t, conformance.Reply("text: Three."))
			temperature := 0.5
			tc.req.Model, tc.req.Temperature = "scripted", &temperature
			if tc.req.Messages == nil {
				tc.req.Messages = conformance.Question().Messages
			}
			if _, err := client.Complete(t.Context(), tc.req, nil); err != nil {
				t.Fatal(err)
			}
			got := sentTo(t, server)[0]
			if diff := cmp.Diff(tc.want, got.Thinking); diff != "" {
				t.Errorf("thinking (-want +got):\n%s", diff)
			}
			if thinks := tc.want["type"] == "enabled"; thinks != (got.Temperature == nil) {
				t.Errorf("the temperature is %v, thinking %t", got.Temperature, thinks)
			}
		})
	}
}

// TestDialectIsLearnedOnce calls a model that rejects one field after the other.
func TestDialectIsLearnedOnce(t *testing.T) {
	const script = `
rules:
- times: 1
  reply: {error: {status: 400, message: "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for this model"}}
- times: 1
  reply: {error: {status: 400, message: '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'}}
- times: 1
  reply: {error: {status: 400, message: "This model does not support the effort parameter."}}
- times: 1
  reply: {error: {status: 400, message: "temperature is deprecated for this model."}}
- reply: {text: Three.}
`
	client, server := subject().Play(t, script)
	temperature := 0.5
	req := conformance.Question()
	req.ReasoningEffort, req.Temperature, req.IdempotencyKey = model.EffortHigh, &temperature, "agent-1/7"
	for range 2 {
		if _, err := client.Complete(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	enabled := func(budget float64) map[string]any { return map[string]any{"type": "enabled", "budget_tokens": budget} }
	want := []sent{
		{MaxTokens: 32000, Thinking: enabled(16000)},
		{MaxTokens: 8192, Thinking: enabled(4096)},
		{MaxTokens: 8192, Thinking: map[string]any{"type": "adaptive", "display": "summarized"}, OutputConfig: map[string]any{"effort": "high"}},
		{MaxTokens: 8192, Temperature: &temperature},
		{MaxTokens: 8192},
		{MaxTokens: 8192}, // the second call uses the learned dialect
	}
	if diff := cmp.Diff(want, sentTo(t, server)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	keys := map[string]bool{}
	for _, request := range server.Requests() {
		keys[request.IdempotencyKey] = true
	}
	if len(keys) != 5 {
		t.Errorf("idempotency keys %v, want one for each dialect", keys)
	}
}

// TestRejectedThinkingIsLeftOut: thinking that the API no longer accepts, for example with another key, must not
// make a conversation unusable. Nothing is learned from it.
func TestRejectedThinkingIsLeftOut(t *testing.T) {
	client, server := subject().Play(t, conformance.Reply("text: Three."))
	req := conformance.Question()
	req.ReasoningEffort = model.EffortLow
	req.Tools = []model.Tool{{Name: "ls"}}
	plain := req
	req.Messages = append(req.Messages,
		model.Message{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{ID: "a", Name: "ls", Arguments: "{}"}}, ReasoningItems: []model.ReasoningItem{
			{API: model.Anthropic, Model: "scripted", Data: json.RawMessage(`{"type":"thinking","thinking":"Where?","signature":"forged"}`)}}},
		model.Message{Role: model.RoleTool, ToolCallID: "a", Text: "go.mod"})
	for _, req := range []model.Request{req, plain} {
		if got, err := client.Complete(t.Context(), req, nil); err != nil || got.Text != "Three." {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	got := sentTo(t, server)
	if len(got) != 3 || got[1].Thinking != nil || strings.Contains(string(server.Requests()[1].Body), "forged") {
		t.Errorf("the second request is %s", server.Requests()[1].Body)
	}
	if got[2].Thinking == nil {
		t.Error("the next call does not think")
	}
}

// TestToolsOfHistoryAreDeclared: the API does not accept calls in the history without tools.
func TestToolsOfHistoryAreDeclared(t *testing.T) {
	client, server := subject().Play(t, conformance.Reply("text: Three."))
	req := conformance.Question()
	req.Messages = append(req.Messages,
		model.Message{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{ID: "a", Name: "ls", Arguments: "{}"}, {ID: "b", Name: "ls", Arguments: "{}"}}},
		model.Message{Role: model.RoleTool, ToolCallID: "a", Text: "go.mod"}, model.Message{Role: model.RoleTool, ToolCallID: "b", Text: "go.mod"})
	if _, err := client.Complete(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	got := sentTo(t, server)[0]
	if len(got.Tools) != 1 || got.Tools[0]["name"] != "ls" || got.ToolChoice["type"] != "none" {
		t.Errorf("tools %v, choice %v", got.Tools, got.ToolChoice)
	}
}

func TestThinkingKeepsItsPlace(t *testing.T) {
	start := func(index int, block string) string {
		return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block)
	}
	delta := func(index int, fields string) string {
		return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{%s}}`, index, fields)
	}
	client := stream(t,
		`{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":10}}}`,
		start(0, `{"type":"redacted_thinking","data":"c2VjcmV0"}`),
		start(1, `{"type":"thinking","thinking":"","signature":""}`), `{"type":"ping"}`,
		delta(1, `"type":"thinking_delta","thinking":"Where <is> "`), delta(1, `"type":"thinking_delta","thinking":"it?"`), delta(1, `"type":"signature_delta","signature":"s1"`),
		start(2, `{"type":"text","text":""}`), delta(2, `"type":"text_delta","text":"I look."`),
		start(3, `{"type":"tool_use","id":"a","name":"ls","input":{}}`), delta(3, `"type":"input_json_delta","partial_json":"{}"`),
		start(4, `{"type":"thinking","thinking":"And there?","signature":"s2"}`),
		start(5, `{"type":"tool_use","id":"a","name":"ls","input":{"path":"x"}}`),
		start(6, `{"type":"server_tool_use","id":"z","name":"web_search","input":{}}`),
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`, `{"type":"message_stop"}`)
	var shown strings.Builder
	got, err := client.Complete(t.Context(), conformance.Question(), func(d model.Delta) { shown.WriteString(d.Reasoning) })
	if err != nil {
		t.Fatal(err)
	}
	item := func(call, data string) model.ReasoningItem {
		return model.ReasoningItem{API: model.Anthropic, Model: "scripted", Call: call, Data: json.RawMessage(data)}
	}
	want := model.Reply{
		ID: "msg_1", Text: "I look.", Reasoning: "Where <is> it?\n\nAnd there?", FinishReason: model.FinishToolCalls,
		ToolCalls: []model.ToolCall{{ID: "a", Name: "ls", Arguments: "{}"}, {ID: "a-2", Name: "ls", Arguments: `{"path":"x"}`}},
		ReasoningItems: []model.ReasoningItem{
			item("", `{"type":"redacted_thinking","data":"c2VjcmV0"}`),
			item("", `{"type":"thinking","thinking":"Where \u003cis\u003e it?","signature":"s1"}`),
			item("a-2", `{"type":"thinking","thinking":"And there?","signature":"s2"}`),
		},
		Usage: &model.Usage{PromptTokens: 10, CompletionTokens: 9, TotalTokens: 19},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
	if shown.String() != got.Reasoning {
		t.Errorf("the deltas give %q", shown.String())
	}

	lenient := conformance.NewServer(t, conformance.Reply("text: Three."), scripted.Options{Lenient: true})
	next := conformance.Question()
	next.Messages = append(next.Messages, got.Message(),
		model.Message{Role: model.RoleTool, ToolCallID: "a", Text: "1"}, model.Message{Role: model.RoleTool, ToolCallID: "a-2", Text: "2"})
	if _, err := subject().Connect(t, lenient).Complete(t.Context(), next, nil); err != nil {
		t.Fatal(err)
	}
	const turn = `{"role":"assistant","content":[{"type":"redacted_thinking","data":"c2VjcmV0"},{"type":"thinking","thinking":"Where \u003cis\u003e it?","signature":"s1"},` +
		`{"type":"text","text":"I look."},{"type":"tool_use","id":"a","name":"ls","input":{}},{"type":"thinking","thinking":"And there?","signature":"s2"},` +
		`{"type":"tool_use","id":"a-2","name":"ls","input":{"path":"x"}}]}`
	if body := string(lenient.Requests()[0].Body); !strings.Contains(body, turn) {
		t.Errorf("the turn is not sent back as it was: %s", body)
	}
}

func TestStopReasons(t *testing.T) {
	for name, tc := range map[string]struct {
		end  string
		want model.Reply
	}{
		"the context is full": {`{"stop_reason":"model_context_window_exceeded"}`, model.Reply{Text: "There", FinishReason: model.FinishLength}},
		"a stop sequence":     {`{"stop_reason":"stop_sequence"}`, model.Reply{Text: "There", FinishReason: model.FinishStop}},
		"a pause":             {`{"stop_reason":"pause_turn"}`, model.Reply{Text: "There", FinishReason: "pause_turn"}},
		"a refusal":           {`{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"Not allowed."}}`, model.Reply{Refusal: "There", FinishReason: model.FinishStop}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := stream(t, `{"type":"message_start","message":{}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"There"}}`,
				`{"type":"message_delta","delta":`+tc.end+`}`).Complete(t.Context(), conformance.Question(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
		})
	}
	got, err := stream(t, `{"type":"message_start","message":{}}`, `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"explanation":"Not allowed."}}}`).Complete(t.Context(), conformance.Question(), nil)
	if err != nil || got.Refusal != "Not allowed." || got.Outcome() != model.OutcomeRefused {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestUsageWithCache(t *testing.T) {
	client, _ := subject().Play(t, "rules: [{reply: {text: Three., usage: {promptTokens: 100, cachedTokens: 60, cacheWriteTokens: 30, completionTokens: 20, reasoningTokens: 5}}}]")
	got, err := client.Complete(t.Context(), conformance.Question(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &model.Usage{PromptTokens: 100, CachedTokens: 60, CacheWriteTokens: 30, CompletionTokens: 20, ReasoningTokens: 5, TotalTokens: 120}
	if diff := cmp.Diff(want, got.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

func TestBaseURL(t *testing.T) {
	client, err := anthropic.NewClient(wire.Endpoint{})
	if err != nil || client.Host() != "api.anthropic.com" {
		t.Errorf("the default host is %q, %v", client.Host(), err)
	}
	server := conformance.NewServer(t, conformance.Reply("text: Three."), scripted.Options{})
	listening := httptest.NewServer(http.StripPrefix("/gateway", server))
	defer listening.Close()
	for _, suffix := range []string{"", "/", "/v1", "/v1/"} {
		client, err := anthropic.NewClient(wire.Endpoint{BaseURL: listening.URL + "/gateway" + suffix})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Complete(t.Context(), conformance.Question(), nil); err != nil {
			t.Errorf("%q: %v", suffix, err)
		}
		if _, err := client.Models(t.Context()); err != nil {
			t.Errorf("%q: %v", suffix, err)
		}
	}
}
