// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/test/programs"
)

const talk = `
models: [scripted, scripted-small]
rules:
- match: {lastMessage: How many files}
  reply:
    text: I look.
    chunkSize: 3
    toolCalls:
    - {name: ls, arguments: {path: "."}}
    - {name: read, arguments: {path: go.mod}}
    usage: {promptTokens: 30, cachedTokens: 10, completionTokens: 12}
- match: {toolResult: {tool: ls}}
  reply: {text: Three., usage: {promptTokens: 50, completionTokens: 2}}
- match: {lastMessage: too fast}
  reply: {error: {status: 429, code: rate_limit_exceeded, retryAfter: 3s, message: Slow down.}}
`

// TestOfficialClient runs a conversation with the official client, streamed and not.
func TestOfficialClient(t *testing.T) {
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, talk)}, APIKey: "sk-test"})
	client := openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey("sk-test"), option.WithMaxRetries(0))
	params := openai.ChatCompletionNewParams{
		Model:    "scripted",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("How many files?")},
		Tools: []openai.ChatCompletionToolUnionParam{
			openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "ls", Parameters: openai.FunctionParameters{"type": "object"}}),
		},
	}

	whole, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var streamed openai.ChatCompletionAccumulator
	for stream.Next() {
		if !streamed.AddChunk(stream.Current()) {
			t.Fatal("the client's own accumulator refuses a chunk")
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]openai.ChatCompletion{"whole": *whole, "streamed": streamed.ChatCompletion} {
		choice := got.Choices[0]
		if choice.Message.Content != "I look." || choice.FinishReason != "tool_calls" || got.Usage.TotalTokens != 42 || got.Usage.PromptTokensDetails.CachedTokens != 10 {
			t.Errorf("%s: %+v", name, got)
		}
		calls := make([]string, 0, 2)
		for _, call := range choice.Message.ToolCalls {
			calls = append(calls, call.Function.Name+call.Function.Arguments)
		}
		if diff := cmp.Diff([]string{`ls{"path":"."}`, `read{"path":"go.mod"}`}, calls); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", name, diff)
		}
	}

	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
	params.Messages = append(params.Messages, whole.Choices[0].Message.ToParam())
	for _, call := range whole.Choices[0].Message.ToolCalls {
		params.Messages = append(params.Messages, openai.ToolMessage("a b c", call.ID))
	}
	answer, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil || answer.Choices[0].Message.Content != "Three." {
		t.Errorf("answer: %+v, %v", answer, err)
	}

	params.Messages = []openai.ChatCompletionMessageParamUnion{openai.UserMessage("too fast")}
	_, err = client.Chat.Completions.New(t.Context(), params)
	var failed *openai.Error
	if !errors.As(err, &failed) || failed.Code != "rate_limit_exceeded" || failed.Message != "Slow down." || failed.Response.Header.Get("Retry-After") != "3" {
		t.Errorf("error: %v", err)
	}

	page, err := client.Models.List(t.Context())
	if err != nil || len(page.Data) != 2 || page.Data[1].ID != "scripted-small" {
		t.Errorf("models: %+v, %v", page, err)
	}
}

// TestCurl uses the scripted model from the command line.
func TestCurl(t *testing.T) {
	programs.Need(t, "curl")
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, talk)}})
	curl := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "curl", append([]string{"--silent", "--show-error", "--no-buffer", "--noproxy", "*"}, args...)...).Output()
		if err != nil {
			t.Fatalf("curl %v: %v", args, err)
		}
		return string(out)
	}
	const body = `{"model":"scripted","messages":[{"role":"user","content":"How many files?"}]}`
	if got := answerText(t, curl("--json", body, url+"/v1/chat/completions")); !strings.HasPrefix(got, "I look.ls{") {
		t.Errorf("plain: %s", got)
	}

	stream := curl("--json", strings.Replace(body, "{", `{"stream":true,`, 1), url+"/v1/chat/completions")
	lines := strings.Split(strings.TrimSpace(stream), "\n\n")
	var text strings.Builder
	for _, line := range lines[:len(lines)-1] {
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &chunk); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		text.WriteString(chunk.Choices[0].Delta.Content)
	}
	if text.String() != "I look." || lines[len(lines)-1] != "data: [DONE]" {
		t.Errorf("stream: %s", stream)
	}

	if got := curl(url + "/v1/models"); !strings.Contains(got, `"id":"scripted-small"`) {
		t.Errorf("models: %s", got)
	}
	if got := curl("--include", "--json", strings.Replace(body, "How many files?", "too fast", 1), url+"/v1/chat/completions"); !strings.Contains(got, "HTTP/1.1 429") || !strings.Contains(got, "Retry-After: 3") {
		t.Errorf("error: %s", got)
	}
	if got := curl("--data-binary", "rules: [{reply: {text: added}}]", url+"/_scripted/script"); got != "" {
		t.Errorf("add a script: %s", got)
	}
	if got := answerText(t, curl("--json", body, url+"/v1/chat/completions")); got != "added" {
		t.Errorf("after adding a script: %s", got)
	}
	if got := curl(url + "/_scripted/requests"); !strings.Contains(got, `"total":4`) || !bytes.Contains([]byte(got), []byte("too fast")) {
		t.Errorf("requests: %s", got)
	}
}
