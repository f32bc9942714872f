// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// response is a response of the fuzzed provider.
type response struct {
	status     int
	retryAfter string
	body       []byte
}

// fuzzed returns a client whose provider sends the stored response.
func (s Subject) fuzzed(f *testing.F) (model.Client, *atomic.Pointer[response]) {
	f.Helper()
	var next atomic.Pointer[response]
	return s.directClient(f, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		r := next.Load()
		w.Header().Set("Content-Type", "text/event-stream")
		if r.retryAfter != "" {
			w.Header().Set("Retry-After", r.retryAfter)
		}
		w.WriteHeader(r.status)
		_, _ = w.Write(r.body)
	})), &next
}

// directClient returns a client of a provider that records nothing, so that a long run needs little memory.
func (s Subject) directClient(f *testing.F, handler http.Handler) model.Client {
	f.Helper()
	provider := httptest.NewServer(handler)
	f.Cleanup(provider.Close)
	client, err := s.NewClient(wire.Endpoint{BaseURL: s.BaseURL(provider.URL)})
	if err != nil {
		f.Fatal(err)
	}
	return client
}

// FuzzReply sends any bytes as a reply, plain or streamed. There must be no panic, and a reply must be usable as
// history: unique IDs, arguments that are an object or marked, and acceptance by a strict provider.
func FuzzReply(f *testing.F, s Subject, seeds ...string) {
	for _, seed := range append(seeds, "<html>", "[DONE]", "data:", "\n\n\n", "{", "[]", ": comment\nid: 1\nretry: 5\ndata: {}\n\n") {
		f.Add([]byte(seed))
	}
	client, next := s.fuzzed(f)
	strict := s.directClient(f, NewServer(f, "fallback: {text: Go on.}", scripted.Options{RecordLimit: -1}))
	f.Fuzz(func(t *testing.T, body []byte) {
		next.Store(&response{status: http.StatusOK, body: body})
		req := Question()
		got, err := client.Complete(t.Context(), req, func(model.Delta) {})
		if err != nil {
			checkError(t, err)
			return
		}
		message := got.Message()
		message.ReasoningItems = nil // the strict provider did not sign them
		req.Messages = append(req.Messages, message)
		ids := map[string]bool{}
		for _, call := range got.ToolCalls {
			var object map[string]any
			if err := json.Unmarshal([]byte(call.Arguments), &object); (err == nil && object != nil) == (call.ArgumentsError != "") {
				t.Errorf("arguments %q, marked %q: %v", call.Arguments, call.ArgumentsError, err)
			}
			if ids[call.ID] || call.ID == "" {
				t.Errorf("the ID %q is not unique", call.ID)
			}
			ids[call.ID] = true
			req.Messages = append(req.Messages, model.Message{Role: model.RoleTool, ToolCallID: call.ID, Text: "ok"})
		}
		req.Messages = append(req.Messages, model.Message{Role: model.RoleUser, Text: "Go on."})
		if _, err := strict.Complete(t.Context(), req, nil); err != nil {
			t.Errorf("the history with this reply is refused: %v", err)
		}
		for _, item := range got.ReasoningItems {
			if !json.Valid(item.Data) || item.API != s.API || item.Call != "" && !ids[item.Call] {
				t.Errorf("a bad reasoning item: %+v", item)
			}
		}
	})
}

// FuzzError sends any bytes as an error.
func FuzzError(f *testing.F, s Subject) {
	f.Add(uint16(429), "3", []byte(`{"error":{"message":"slow","code":"rate_limit_exceeded"}}`))
	f.Add(uint16(400), "", []byte(`[{"error":{"message":["a"],"code":null,"innererror":{"code":"x"}}}]`))
	f.Add(uint16(500), "Sun, 06 Nov 1994 08:49:37 GMT", []byte(`{"error":"text"}`))
	f.Add(uint16(503), "1e999", []byte(`<html>`))
	f.Add(uint16(422), "-1", []byte(`{"detail":{"a":1},"message":null,"error":null}`))
	f.Add(uint16(429), "", []byte(`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"1e9h"},{"violations":[{}]}]}}`))
	f.Add(uint16(400), "", []byte(`{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 1 > 99999999999999999999"}}`))
	client, next := s.fuzzed(f)
	f.Fuzz(func(t *testing.T, status uint16, retryAfter string, body []byte) {
		next.Store(&response{status: 400 + int(status)%200, retryAfter: retryAfter, body: body})
		_, err := client.Complete(t.Context(), Question(), nil)
		checkError(t, err)
	})
}

func checkError(t *testing.T, err error) {
	t.Helper()
	failed := Failure(t, err)
	if failed.Kind == "" || len(failed.Message) > 1100 || !utf8.ValidString(failed.Message) || failed.RetryAfter < 0 {
		t.Errorf("a bad error: %+v", failed)
	}
}
