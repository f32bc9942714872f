// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/conformance"
)

// TestDialectIsLearnedOnce calls an endpoint that rejects one parameter after the other.
func TestDialectIsLearnedOnce(t *testing.T) {
	const script = `
rules:
- times: 1
  reply: {error: {status: 400, message: "Unrecognized request argument supplied: stream_options"}}
- times: 1
  reply: {error: {status: 400, message: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}
- times: 1
  reply: {error: {status: 400, message: "Unsupported parameter: 'reasoning_effort' is not supported with this model."}}
- reply: {text: Three.}
`
	client, server := subject().Play(t, script)
	req := conformance.Question()
	req.MaxOutputTokens = 64
	req.IdempotencyKey = "agent-1/7"
	req.ReasoningEffort = model.EffortHigh
	for range 2 {
		got, err := client.Complete(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Text != "Three." || got.Usage != nil {
			t.Errorf("got %+v; usage was not requested and must be unknown", got)
		}
	}
	type limits struct {
		StreamOptions       any    `json:"stream_options"`
		MaxTokens           int64  `json:"max_tokens"`
		MaxCompletionTokens int64  `json:"max_completion_tokens"`
		ReasoningEffort     string `json:"reasoning_effort"`
	}
	var got []limits
	keys := map[string]bool{}
	for _, request := range server.Requests() {
		keys[request.IdempotencyKey] = true
		var l limits
		if err := json.Unmarshal(request.Body, &l); err != nil {
			t.Fatal(err)
		}
		got = append(got, l)
	}
	want := []limits{
		{StreamOptions: map[string]any{"include_usage": true}, MaxTokens: 64, ReasoningEffort: "high"},
		{MaxTokens: 64, ReasoningEffort: "high"},
		{MaxCompletionTokens: 64, ReasoningEffort: "high"},
		{MaxCompletionTokens: 64},
		{MaxCompletionTokens: 64}, // the second call uses the learned dialect
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if len(keys) != 4 {
		t.Errorf("idempotency keys %v, want one for each dialect", keys)
	}
}

func TestUnrelatedErrorEndsTheCall(t *testing.T) {
	for _, message := range []string{
		"max_tokens is too large: 64. This model supports at most 32 completion tokens.",
		"Unrecognized request argument supplied: stream_options",
	} {
		client, server := subject().Play(t, conformance.Reply("error: {status: 400, message: '"+message+"'}"))
		_, err := client.Complete(t.Context(), conformance.Question(), nil)
		if conformance.Failure(t, err).Kind != model.BadRequest {
			t.Errorf("got %v, want BadRequest", err)
		}
		if n := len(server.Requests()); n > 2 {
			t.Errorf("%q: %d requests, want at most 2", message, n)
		}
	}
}
