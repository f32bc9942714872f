// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/internal/outbound"
)

const testKey = "sk-test-0123456789abcdef"

// playScript serves a script over HTTP and returns a client for it.
func playScript(t testing.TB, script string) (*openai.Client, *scripted.Server) {
	t.Helper()
	parsed, err := scripted.Parse("test.yaml", []byte(script))
	if err != nil {
		t.Fatalf("parse script: %v", err)
	}
	server := scripted.NewServer(scripted.Options{Scripts: []*scripted.Script{parsed}})
	return connect(t, server, 10*time.Second), server
}

func connect(t testing.TB, server *scripted.Server, timeout time.Duration) *openai.Client {
	t.Helper()
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	httpClient := wire.NewHTTPClient(outbound.New(outbound.Options{AllowLoopback: true}))
	t.Cleanup(httpClient.CloseIdleConnections)
	client, err := openai.NewClient(wire.Endpoint{
		BaseURL: listening.URL + "/v1", Timeout: timeout, HTTPClient: httpClient,
		Key: func(context.Context) (string, error) { return testKey, nil },
	})
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	return client
}

func reply(body string) string {
	return "rules:\n- reply:\n" + indent(strings.Trim(body, "\n"), "    ")
}

// rawReply returns a script that sends a body verbatim.
func rawReply(contentType, body string) string {
	return "rules:\n- reply:\n    raw:\n      headers: {Content-Type: " + contentType + "}\n      body: |\n" + indent(strings.Trim(body, "\n")+"\n", "        ")
}

func events(lines ...string) string {
	return rawReply("text/event-stream", "data: "+strings.Join(lines, "\n\ndata: ")+"\n\n")
}

func indent(s, by string) string {
	return by + strings.ReplaceAll(s, "\n", "\n"+by) + "\n"
}

func question() model.Request {
	return model.Request{Model: "scripted", Messages: []model.Message{
		{Role: model.RoleSystem, Text: "You are helpful."},
		{Role: model.RoleUser, Text: "How many files are there?"},
	}}
}

// TestVariantsOfTheProtocol has replies that servers of this API send and that the reference does not describe.
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
		script  string
		want    model.Reply
		outcome model.Outcome
	}{
		"usage with missing counts is unknown": {
			script:  events(`{"choices":[{"delta":{"content":"There are three."},"finish_reason":"stop"}],"usage":{"total_tokens":7}}`, done),
			want:    answer,
			outcome: model.OutcomeAnswer,
		},
		"usage below zero is unknown": {
			script:  events(`{"choices":[{"delta":{"content":"There are three."},"finish_reason":"stop"}],"usage":{"prompt_tokens":-1,"completion_tokens":2}}`, done),
			want:    answer,
			outcome: model.OutcomeAnswer,
		},
		"cached tokens in the other spelling": {
			script: events(`{"choices":[{"delta":{"content":"There are three."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_cache_hit_tokens":4}}`, done),
			want: model.Reply{
				Text: "There are three.", FinishReason: model.FinishStop,
				Usage: &model.Usage{PromptTokens: 9, CachedTokens: 4, CompletionTokens: 2, TotalTokens: 11},
			},
			outcome: model.OutcomeAnswer,
		},
		"a stream with comments, event names, no final marker and no final empty line": {
			script:  rawReply("text/event-stream", ": keep-alive\n\nevent: message\ndata: {\"choices\":[{\"delta\":{\"content\":\"There are three.\"},\"finish_reason\":\"stop\"}],\"error\":null}\n\n"),
			want:    answer,
			outcome: model.OutcomeAnswer,
		},
		"content in parts": {
			script:  events(`{"choices":[{"delta":{"content":[{"type":"text","text":"There are "},{"type":"text","text":"three."}]},"finish_reason":"stop"}]}`, done),
			want:    answer,
			outcome: model.OutcomeAnswer,
		},
		"another choice is not this reply": {
			script:  events(`{"choices":[{"index":1,"delta":{"content":"Four."}},{"index":0,"delta":{"content":"There are three."},"finish_reason":"stop"}]}`, done),
			want:    answer,
			outcome: model.OutcomeAnswer,
		},
		"whole calls in one chunk, the index missing": {
			script:  events(`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"ls","arguments":"{\"path\":\".\"}"}},{"id":"b","function":{"name":"read","arguments":"{\"path\":\"go.mod\"}"}}]},"finish_reason":"tool_calls"}]}`, done),
			want:    lsAndRead,
			outcome: model.OutcomeToolCalls,
		},
		"fragments of calls, the index missing": {
			script: events(
				`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"ls","arguments":"{\"path\""}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":\".\"}"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"read","arguments":"{\"path\":"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"arguments":"\"go.mod\"}"}}]},"finish_reason":"tool_calls"}]}`, done),
			want:    lsAndRead,
			outcome: model.OutcomeToolCalls,
		},
		"every parallel call with the index 0": {
			script: events(
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"{\"path\":\".\"}"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"read","arguments":"{\"path\":\"go.mod\"}"}}]},"finish_reason":"tool_calls"}]}`, done),
			want:    lsAndRead,
			outcome: model.OutcomeToolCalls,
		},
		"the name and the ID repeated in each fragment": {
			script: events(
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"{\"path\":"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"\".\"}"}}]},"finish_reason":"tool_calls"}]}`, done),
			want:    model.Reply{ToolCalls: lsAndRead.ToolCalls[:1], FinishReason: model.FinishToolCalls},
			outcome: model.OutcomeToolCalls,
		},
		"arguments as an object": {
			script:  events(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":{"path":"."}}}]},"finish_reason":"tool_calls"}]}`, done),
			want:    model.Reply{ToolCalls: []model.ToolCall{call("a", "ls", `{"path":"."}`)}, FinishReason: model.FinishToolCalls},
			outcome: model.OutcomeToolCalls,
		},
		"tool calls although the reason says stop": {
			script:  reply("toolCalls: [{id: a, name: ls, arguments: {path: .}}]\nfinishReason: stop\n" + noUsage),
			want:    model.Reply{ToolCalls: lsAndRead.ToolCalls[:1], FinishReason: model.FinishStop},
			outcome: model.OutcomeToolCalls,
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := playScript(t, tc.script)
			got, err := client.Complete(t.Context(), question(), nil)
			if err != nil {
				t.Fatalf("complete: %v", err)
			}
			got.ID, got.Model = "", ""
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			if got.Outcome() != tc.outcome {
				t.Errorf("outcome is %s, want %s", got.Outcome(), tc.outcome)
			}
		})
	}
}
