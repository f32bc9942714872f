// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package responses_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/responses"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// serve answers requests one after the other, and records their bodies and idempotency keys.
func serve(t *testing.T, answers ...func(http.ResponseWriter)) (client *responses.Client, bodies, keys *[]string) {
	t.Helper()
	bodies, keys = new([]string), new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || len(*bodies) == len(answers) {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		*bodies, *keys = append(*bodies, string(body)), append(*keys, r.Header.Get("Idempotency-Key"))
		answers[len(*bodies)-1](w)
	}))
	t.Cleanup(server.Close)
	client, err := responses.NewClient(wire.Endpoint{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client, bodies, keys
}

func refused(message string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error"}})
	}
}

func answered(output string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		_, _ = io.WriteString(w, `{"id":"r","status":"completed","output":[`+output+`]}`)
	}
}

const hello = `{"type":"message","content":[{"type":"output_text","text":"Hello."}]}`

// TestParametersOfReasoningAreLearned calls a model that supports none of them. The second call does not try them
// again.
func TestParametersOfReasoningAreLearned(t *testing.T) {
	client, bodies, keys := serve(t,
		refused("Your organization must be verified to generate reasoning summaries."),
		refused("Encrypted content is not supported with this model."),
		refused("Unsupported parameter: 'reasoning.effort' is not supported with this model."),
		answered(hello), answered(hello))
	req := model.Request{Model: "m", ReasoningEffort: model.EffortLow, IdempotencyKey: "k", Messages: []model.Message{{Role: model.RoleUser, Text: "Hi."}}}
	for range 2 {
		if reply, err := client.Complete(t.Context(), req, nil); err != nil || reply.Text != "Hello." {
			t.Fatalf("got %+v, %v", reply, err)
		}
	}
	has := func(part string) (in []bool) {
		for _, body := range *bodies {
			in = append(in, strings.Contains(body, part))
		}
		return in
	}
	if diff := cmp.Diff([]bool{true, false, false, false, false}, has(`"summary"`)); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]bool{true, true, false, false, false}, has(`"include"`)); diff != "" {
		t.Errorf("include (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]bool{true, true, true, false, false}, has(`"effort"`)); diff != "" {
		t.Errorf("effort (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"k", "k-nsu", "k-nsu-nen", "k-nre-nsu-nen", "k-nre-nsu-nen"}, *keys); diff != "" {
		t.Errorf("idempotency keys (-want +got):\n%s", diff)
	}
}

// TestReasoningKeepsItsPlace sends a reply back in which each item of reasoning precedes what it led to.
func TestReasoningKeepsItsPlace(t *testing.T) {
	const first, second, third = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"a"}`, `{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"b"}`, `{"type":"reasoning","id":"rs_3","summary":[],"encrypted_content":"c"}`
	client, bodies, _ := serve(t,
		answered(strings.Join([]string{
			first, `{"type":"message","content":[{"type":"output_text","text":"I look."}]}`,
			second, `{"type":"function_call","call_id":"x","name":"ls","arguments":"{}"}`,
			third, `{"type":"function_call","call_id":"x","name":"read","arguments":"{}"}`,
		}, ",")), answered(hello), answered(hello))
	req := model.Request{Model: "m", Messages: []model.Message{{Role: model.RoleUser, Text: "Hi."}}}
	reply, err := client.Complete(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, reply.Message())
	for _, call := range reply.ToolCalls {
		req.Messages = append(req.Messages, model.Message{Role: model.RoleTool, ToolCallID: call.ID, Text: "done"})
	}
	if _, err := client.Complete(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, part := range []string{"rs_1", "I look.", "rs_2", `"name":"ls"`, "rs_3", `"name":"read"`, "function_call_output"} {
		next := strings.Index((*bodies)[1], part)
		if next <= at {
			t.Errorf("%s is not in its place in %s", part, (*bodies)[1])
		}
		at = next
	}
	req.Model = "another" // it cannot read what the first one thought
	if _, err := client.Complete(t.Context(), req, nil); err != nil || strings.Contains((*bodies)[2], "rs_") {
		t.Errorf("another model gets %s (%v)", (*bodies)[2], err)
	}
}

// TestIncompleteRepliesAreCutOff: some servers end the stream of an incomplete response with response.completed, or
// give no reason.
func TestIncompleteRepliesAreCutOff(t *testing.T) {
	const response = `{"id":"r","status":"incomplete","output":[` + hello + `]}`
	answer := func(text string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { _, _ = io.WriteString(w, text) }
	}
	streamed := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"type":"response.completed","response":`+response+"}\n\n")
	}
	client, _, _ := serve(t, answer(response), streamed, answered(hello))
	req := model.Request{Model: "m", Messages: []model.Message{{Role: model.RoleUser, Text: "Hi."}}}
	for _, want := range []model.FinishReason{model.FinishLength, model.FinishLength, model.FinishStop} {
		if reply, err := client.Complete(t.Context(), req, nil); err != nil || reply.Text != "Hello." || reply.FinishReason != want {
			t.Errorf("got %+v, %v, want it to end with %s", reply, err, want)
		}
	}
}
