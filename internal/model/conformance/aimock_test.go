// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/anthropic"
	"github.com/nestor-dev/nestor/internal/model/gemini"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/responses"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/test/npm"
)

// startAimock runs @copilotkit/aimock, a model endpoint of another project, and returns its address.
func startAimock(t *testing.T) string {
	t.Helper()
	fixtures, err := filepath.Abs(filepath.Join("testdata", "aimock.json"))
	if err != nil {
		t.Fatal(err)
	}
	return npm.Program{Dir: "model-servers", Script: "node_modules/@copilotkit/aimock/dist/cli.js", Args: []string{
		"--port", "0", "--fixtures", fixtures, "--validate-on-load", "--strict", "--chunk-size", "7", "--log-level", "silent",
	}}.Serve(t).URL
}

// TestForeignEndpoint lets the client of each API talk to a server of another project.
func TestForeignEndpoint(t *testing.T) {
	address := startAimock(t)
	for api, newClient := range map[model.API]func(wire.Endpoint) (model.Client, error){
		model.OpenAI: func(e wire.Endpoint) (model.Client, error) {
			e.BaseURL += "/v1"
			return openai.NewClient(e)
		},
		model.OpenAIResponses: func(e wire.Endpoint) (model.Client, error) {
			e.BaseURL += "/v1"
			return responses.NewClient(e)
		},
		model.Anthropic: func(e wire.Endpoint) (model.Client, error) { return anthropic.NewClient(e) },
		model.Gemini:    func(e wire.Endpoint) (model.Client, error) { return gemini.NewClient(e) },
	} {
		t.Run(string(api), func(t *testing.T) {
			client, err := newClient(wire.Endpoint{
				BaseURL: address, Timeout: time.Minute,
				Key: func(context.Context) (string, error) { return "any", nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Run("Answer", func(t *testing.T) { testAnswer(t, client) })
			t.Run("ToolLoop", func(t *testing.T) { testToolLoop(t, client) })
			t.Run("Stream", func(t *testing.T) { testStream(t, client, api) })
			t.Run("RateLimit", func(t *testing.T) { testRateLimit(t, client) })
		})
	}
}

func ask(text string) model.Request {
	return model.Request{Model: "foreign-model", MaxOutputTokens: 2048, IdempotencyKey: "key", Messages: []model.Message{
		{Role: model.RoleSystem, Text: "You are helpful."}, {Role: model.RoleUser, Text: text},
	}}
}

func testAnswer(t *testing.T, client model.Client) {
	reply, err := client.Complete(t.Context(), ask("What is 6 times 7?"), nil)
	if err != nil || reply.Text != "42" || reply.Outcome() != model.OutcomeAnswer || reply.FinishReason != model.FinishStop {
		t.Errorf("got %+v, %v", reply, err)
	}
}

func testToolLoop(t *testing.T, client model.Client) {
	request := ask("How many files are there?")
	request.Tools = []model.Tool{{Name: "ls", Description: "Lists files.", Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}}
	reply, err := client.Complete(t.Context(), request, nil)
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	request.Messages = append(request.Messages, reply.Message())
	for _, call := range reply.ToolCalls {
		calls = append(calls, call.Name+call.Arguments+call.ArgumentsError)
		request.Messages = append(request.Messages, model.Message{Role: model.RoleTool, ToolCallID: call.ID, Text: "a b c"})
	}
	if diff := cmp.Diff([]string{`ls{"path":"."}`, `ls{"path":"docs"}`}, calls); diff != "" || reply.Outcome() != model.OutcomeToolCalls {
		t.Fatalf("%s, calls (-want +got):\n%s", reply.Outcome(), diff)
	}
	reply, err = client.Complete(t.Context(), request, nil)
	if err != nil || reply.Text != "There are three files." {
		t.Errorf("after the results: %+v, %v", reply, err)
	}
}

func testStream(t *testing.T, client model.Client, api model.API) {
	var text, reasoning strings.Builder
	deltas := 0
	request := ask("Tell me a story.")
	request.ReasoningEffort = model.EffortLow
	reply, err := client.Complete(t.Context(), request, func(d model.Delta) {
		text.WriteString(d.Text)
		reasoning.WriteString(d.Reasoning)
		deltas++
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(reply.Text, "Once upon a time") || reply.Text != text.String() || deltas < 5 {
		t.Errorf("got %q, streamed %q in %d deltas", reply.Text, text.String(), deltas)
	}
	if reply.Reasoning != "A short one will do." || reply.Reasoning != reasoning.String() {
		t.Errorf("%s: reasoning %q, streamed %q", api, reply.Reasoning, reasoning.String())
	}
}

func testRateLimit(t *testing.T, client model.Client) {
	_, err := client.Complete(t.Context(), ask("Too fast?"), nil)
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Kind != model.RateLimited || failed.Message != "Slow down." {
		t.Errorf("got %v", err)
	}
}
