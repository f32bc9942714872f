// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/conformance"
)

// events returns a script that streams events with the given data.
func events(data ...string) string {
	return conformance.RawReply("text/event-stream", "data: "+strings.Join(data, "\n\ndata: ")+"\n\n")
}

// TestVariantsOfTheProtocol has replies of other servers that OpenAI's reference does not describe.
func TestVariantsOfTheProtocol(t *testing.T) {
	const noUsage = "usage: {omit: true}"
	const done = "[DONE]"
	answer := model.Reply{Text: "There are three.", FinishReason: model.FinishStop}
	call := func(id, name, arguments string) model.ToolCall {
		return model.ToolCall{ID: id, Name: name, Arguments: arguments}
	}
	lsAndRead := model.Reply{
		ToolCalls:    []model.ToolCall{call("a", "ls", `{"path":"."}`), call("b", "read", `{"path":"go.mod"}`)},
		FinishReason: model.FinishToolCalls,
	}

	for name, tc := range map[string]struct {
		script string
		want   model.Reply
	}{
		"usage with missing counts is unknown": {
			script: events(`{"choices":[{"delta":{"content":"There are three."},"finish_reason":"stop"}],"usage":{"total_tokens":7}}`, done),
			want:   answer,
		},
		"usage below zero is unknown": {
			script: events(`{"choices":[{"delta":{"content":"There are three."},"finish_reason":"stop"}],"usage":{"prompt_tokens":-1,"completion_tokens":2}}`, done),
			want:   answer,
		},
		"cached tokens in the other spelling": {
			script: events(`{"choices":[{"delta":{"content":"There are three."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_cache_hit_tokens":4}}`, done),
			want: model.Reply{
				Text: "There are three.", FinishReason: model.FinishStop,
				Usage: &model.Usage{PromptTokens: 9, CachedTokens: 4, CompletionTokens: 2, TotalTokens: 11},
			},
		},
		"a stream with comments, event names, no final marker and no final empty line": {
			script: conformance.RawReply("text/event-stream", ": keep-alive\n\nevent: message\ndata: {\"choices\":[{\"delta\":{\"content\":\"There are three.\"},\"finish_reason\":\"stop\"}],\"error\":null}\n\n"),
			want:   answer,
		},
		"content in parts": {
			script: events(`{"choices":[{"delta":{"content":[{"type":"text","text":"There are "},{"type":"text","text":"three."}]},"finish_reason":"stop"}]}`, done),
			want:   answer,
		},
		"another choice is not this reply": {
			script: events(`{"choices":[{"index":1,"delta":{"content":"Four."}},{"index":0,"delta":{"content":"There are three."},"finish_reason":"stop"}]}`, done),
			want:   answer,
		},
		"whole calls in one chunk, the index missing": {
			script: events(`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"ls","arguments":"{\"path\":\".\"}"}},{"id":"b","function":{"name":"read","arguments":"{\"path\":\"go.mod\"}"}}]},"finish_reason":"tool_calls"}]}`, done),
			want:   lsAndRead,
		},
		"fragments of calls, the index missing": {
			script: events(
				`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"ls","arguments":"{\"path\""}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":\".\"}"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"read","arguments":"{\"path\":"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"arguments":"\"go.mod\"}"}}]},"finish_reason":"tool_calls"}]}`, done),
			want: lsAndRead,
		},
		"every parallel call with the index 0": {
			script: events(
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"{\"path\":\".\"}"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"read","arguments":"{\"path\":\"go.mod\"}"}}]},"finish_reason":"tool_calls"}]}`, done),
			want: lsAndRead,
		},
		"the name and the ID repeated in each fragment": {
			script: events(
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"{\"path\":"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"\".\"}"}}]},"finish_reason":"tool_calls"}]}`, done),
			want: model.Reply{ToolCalls: lsAndRead.ToolCalls[:1], FinishReason: model.FinishToolCalls},
		},
		"arguments as an object": {
			script: events(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":{"path":"."}}}]},"finish_reason":"tool_calls"}]}`, done),
			want:   model.Reply{ToolCalls: []model.ToolCall{call("a", "ls", `{"path":"."}`)}, FinishReason: model.FinishToolCalls},
		},
		"tool calls although the reason says stop": {
			script: conformance.Reply("toolCalls: [{id: a, name: ls, arguments: {path: .}}]\nfinishReason: stop\n" + noUsage),
			want:   model.Reply{ToolCalls: lsAndRead.ToolCalls[:1], FinishReason: model.FinishStop},
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := subject().Play(t, tc.script)
			got, err := client.Complete(t.Context(), conformance.Question(), nil)
			if err != nil {
				t.Fatalf("complete: %v", err)
			}
			got.ID, got.Model = "", ""
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
		})
	}
}
