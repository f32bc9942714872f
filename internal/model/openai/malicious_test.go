// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/internal/outbound"
)

// serve connects a client to a provider with the given handler.
func serve(t *testing.T, handler http.HandlerFunc) *openai.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	client, err := openai.NewClient(wire.Endpoint{BaseURL: server.URL, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// stream sends a text repeatedly until the client disconnects or a gigabyte was sent.
func stream(first, again string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, first)
		block := strings.Repeat(again, 1+(64<<10)/len(again))
		for sent := 0; sent < 1<<30; sent += len(block) {
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
		}
	}
}

func answer(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

func chunk(delta string) string { return `data: {"choices":[{"delta":` + delta + "}]}\n\n" }

func TestEndlessRepliesAreRejected(t *testing.T) {
	var calls strings.Builder
	for i := range 10_000 {
		calls.WriteString(chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"ls","arguments":"{}"}}]}`, i, i)))
	}
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		says    string
	}{
		"text without end":          {stream("", chunk(`{"content":"`+strings.Repeat("x", 1000)+`"}`)), "more than 1 MiB of text"},
		"reasoning without end":     {stream("", chunk(`{"reasoning_content":"`+strings.Repeat("x", 1000)+`"}`)), "more than 1 MiB of text"},
		"arguments without end":     {stream("", chunk(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"ls","arguments":"`+strings.Repeat("x", 1000)+`"}}]}`)), "more than 1 MiB of text"},
		"a name without end":        {stream("", chunk(`{"tool_calls":[{"index":0,"function":{"name":"abcdefgh"}}]}`)+chunk(`{"tool_calls":[{"index":0,"function":{"name":"ijkl"}}]}`)), "a name or an id that is too long"},
		"a line without end":        {stream("data: ", "x"), "an event that is larger than 2 MiB"},
		"an event without end":      {stream("", "data: x\n"), "an event that is larger than 2 MiB"},
		"comments without end":      {stream("", ": still thinking\n\n"), "larger than 64 MiB"},
		"10,000 tool calls":         {answer("text/event-stream", calls.String()), "more than 128 tool calls"},
		"10,000 tool calls at once": {answer("application/json", `{"choices":[{"message":{"tool_calls":[`+strings.Repeat(`{"id":"c","function":{"name":"ls"}},{"id":"d","function":{"name":"ls"}},`, 5_000)+`{"id":"e"}]}}]}`), "more than 128 tool calls"},
		"a whole reply of 15 MiB":   {answer("application/json", `{"choices":[{"message":{"content":"`+strings.Repeat("x", 15<<20)+`"}}]}`), "larger than 4 MiB"},
		"a gzip bomb":               {bomb, "more than 1 MiB of text"},
		"calls that repeat a name":  {stream("", chunk(`{"tool_calls":[{"function":{"name":"ls","arguments":"[0"}}]}`)), "more than 1 MiB of text"},
		"an error body without end": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			stream("", "never ")(w, r)
		}, "never"},
		"nesting without end": {answer("application/json", `{"choices":`+strings.Repeat("[", 1<<20)), "not JSON"},
		"headers without end": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Long", strings.Repeat("x", 100<<10)) }, "header"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := serve(t, tc.handler).Complete(t.Context(), question(), nil)
			var failed *model.Error
			if !errors.As(err, &failed) || !strings.Contains(failed.Message, tc.says) {
				t.Errorf("got %v, want an error that says %q", err, tc.says)
			}
			if failed != nil && len([]rune(failed.Message)) > 500 {
				t.Errorf("the message has %d bytes", len(failed.Message))
			}
		})
	}
}

func bomb(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("Content-Type", "text/event-stream")
	z := gzip.NewWriter(w)
	text := chunk(`{"content":"` + strings.Repeat("x", 100_000) + `"}`)
	for range 1000 {
		if _, err := io.WriteString(z, text); err != nil {
			return
		}
	}
}

func TestListOfModelsIsBounded(t *testing.T) {
	_, err := serve(t, answer("application/json", `{"data":[`+strings.Repeat(`{"id":"m"},`, 3<<20)+`{"id":"m"}]}`)).Models(t.Context())
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Kind != model.Oversized || !strings.Contains(failed.Message, "larger than 4 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	reached := make(chan struct{}, 10)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, status) })
		_, err := client.Complete(t.Context(), question(), nil)
		_, listed := client.Models(t.Context())
		for _, err := range []error{err, listed} {
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Kind != model.NotAllowed || failed.Retryable() {
				t.Errorf("%d: got %v", status, err)
			}
		}
	}
	if len(reached) > 0 {
		t.Error("a redirect was followed")
	}
}

func TestForbiddenAddressesAreRejected(t *testing.T) {
	client, err := openai.NewClient(wire.Endpoint{BaseURL: "http://127.0.0.1:1", HTTPClient: wire.NewHTTPClient(outbound.New(outbound.Options{}))})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Complete(t.Context(), question(), nil)
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Kind != model.NotAllowed || !strings.Contains(failed.Message, "loopback") {
		t.Errorf("got %v", err)
	}
}

// TestErrorsDoNotRepeatResponsesOfOtherServices: an address may lead to another service of the network, whose
// responses must not be readable through the errors of a call.
func TestErrorsDoNotRepeatResponsesOfOtherServices(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"text":        answer("text/plain", "secret-word"),
		"lines":       answer("text/event-stream", "data: secret-word\n\n"),
		"JSON":        answer("application/json", `{"token":"secret-word"}`),
		"broken JSON": answer("application/json", `{"token":"secret-word"`),
		"a page":      answer("text/html", "<html><body>secret-word</body></html>"),
		"a failing page": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<html>secret-word")
		},
		"JSON of failure": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"token":"secret-word"}`)
		},
		"a second line": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "no\nsecret-word")
		},
		"a long line": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, strings.Repeat("a ", 100)+"secret-word")
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := serve(t, handler).Complete(t.Context(), question(), nil)
			if err == nil || strings.Contains(err.Error(), "secret-word") {
				t.Errorf("got %v", err)
			}
		})
	}
}
