// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// response is a response of the fuzzed provider.
type response struct {
	status      int
	contentType string
	retryAfter  string
	body        []byte
}

// fuzzedProvider returns a client whose provider sends the stored response, and a client of a strict provider that
// answers everything.
func fuzzedProvider(f *testing.F) (*openai.Client, *atomic.Pointer[response], *openai.Client) {
	f.Helper()
	var next atomic.Pointer[response]
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		r := next.Load()
		w.Header().Set("Content-Type", r.contentType)
		if r.retryAfter != "" {
			w.Header().Set("Retry-After", r.retryAfter)
		}
		w.WriteHeader(r.status)
		_, _ = w.Write(r.body)
	}))
	f.Cleanup(provider.Close)
	fuzzed, err := openai.NewClient(wire.Endpoint{BaseURL: provider.URL})
	if err != nil {
		f.Fatal(err)
	}
	script, err := scripted.Parse("fuzz.yaml", []byte("fallback: {text: Go on.}"))
	if err != nil {
		f.Fatal(err)
	}
	strict := connect(f, scripted.NewServer(scripted.Options{Scripts: []*scripted.Script{script}, RecordLimit: -1}), 0)
	return fuzzed, &next, strict
}

// FuzzReply sends any bytes as a reply, plain or streamed. There must be no panic, and a reply must be usable as
// history: unique IDs, arguments that are an object or marked, and acceptance by a strict provider.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"ls\",\"arguments\":\"{\\\"p\\\":\"}}]}}]}\n\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"1}\"}},{\"id\":\"a\",\"function\":{\"name\":\"l s\",\"arguments\":{}}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
		"{\"choices\":[{\"message\":{\"content\":[{\"text\":\"a\"}],\"refusal\":\"no\",\"tool_calls\":[{\"function\":{}},{\"function\":{\"name\":\"x\",\"arguments\":null}}]},\"finish_reason\":\"length\"}]}",
		": comment\nevent: x\nid: 1\nretry: 5\ndata: {\"error\":{\"code\":429,\"message\":\"slow\"}}\n\n",
		"<html>", "[DONE]", "data:", "\n\n\n", "{", "{}", "data: {\"choices\":null,\"error\":null}\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	client, next, strict := fuzzedProvider(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		next.Store(&response{status: http.StatusOK, contentType: "text/event-stream", body: body})
		req := question()
		got, err := client.Complete(t.Context(), req, func(model.Delta) {})
		if err != nil {
			checkError(t, err)
			return
		}
		req.Messages = append(req.Messages, got.Message())
		seen := map[string]bool{}
		for _, call := range got.ToolCalls {
			var object map[string]any
			if err := json.Unmarshal([]byte(call.Arguments), &object); (err == nil && object != nil) == (call.ArgumentsError != "") {
				t.Errorf("arguments %q, marked %q: %v", call.Arguments, call.ArgumentsError, err)
			}
			if seen[call.ID] || call.ID == "" {
				t.Errorf("the id %q is not unique", call.ID)
			}
			seen[call.ID] = true
			req.Messages = append(req.Messages, model.Message{Role: model.RoleTool, ToolCallID: call.ID, Text: "ok"})
		}
		if _, err := strict.Complete(t.Context(), req, nil); err != nil {
			t.Errorf("the history with this reply is refused: %v", err)
		}
	})
}

// FuzzError sends any bytes as an error.
func FuzzError(f *testing.F) {
	f.Add(uint16(429), "3", []byte(`{"error":{"message":"slow","code":"rate_limit_exceeded"}}`))
	f.Add(uint16(400), "", []byte(`[{"error":{"message":["a"],"code":null,"innererror":{"code":"x"}}}]`))
	f.Add(uint16(500), "Sun, 06 Nov 1994 08:49:37 GMT", []byte(`{"error":"text"}`))
	f.Add(uint16(503), "1e999", []byte(`<html>`))
	f.Add(uint16(422), "-1", []byte(`{"detail":{"a":1},"message":null,"error":null}`))
	client, next, _ := fuzzedProvider(f)
	f.Fuzz(func(t *testing.T, status uint16, retryAfter string, body []byte) {
		next.Store(&response{status: 400 + int(status)%200, contentType: "application/json", retryAfter: retryAfter, body: body})
		_, err := client.Complete(t.Context(), question(), nil)
		checkError(t, err)
	})
}

func checkError(t *testing.T, err error) {
	t.Helper()
	var failed *model.Error
	if !errors.As(err, &failed) {
		t.Fatalf("%v is no *model.Error", err)
	}
	if failed.Kind == "" || len(failed.Message) > 1100 || !utf8.ValidString(failed.Message) || failed.RetryAfter < 0 {
		t.Errorf("a bad error: %+v", failed)
	}
}
