// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/internal/outbound"
)

// endless sends text repeatedly until the client disconnects or a gigabyte was sent.
func Endless(first, again string) http.HandlerFunc {
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

func fail(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

type endlessCase struct {
	handler     http.HandlerFunc
	wantMessage string
}

func endlessCases(f form) map[string]endlessCase {
	const tooMuchText = "more than 1 MiB of text"
	long := strings.Repeat("x", 1000)
	cases := map[string]endlessCase{
		"text without end":          {Endless(f.text.begin, f.text.piece(long)), tooMuchText},
		"reasoning without end":     {Endless(f.reasoning.begin, f.reasoning.piece(long)), tooMuchText},
		"a line without end":        {Endless("data: ", "x"), "an event that is larger than 2 MiB"},
		"an event without end":      {Endless("", "data: x\n"), "an event that is larger than 2 MiB"},
		"comments without end":      {Endless("", ": still thinking\n\n"), "larger than 64 MiB"},
		"10,000 tool calls":         {answer("text/event-stream", f.calls(10_000)), "more than 128 tool calls"},
		"10,000 tool calls at once": {answer("application/json", f.wholeCalls(10_000)), "more than 128 tool calls"},
		"a whole reply of 15 MiB":   {answer("application/json", f.whole(strings.Repeat("x", 15<<20))), "larger than 4 MiB"},
		"a whole reply of 2 MiB":    {answer("application/json", f.whole(strings.Repeat("x", 2<<20))), tooMuchText},
		"a gzip bomb":               {bomb(f.text.begin, f.text.piece(strings.Repeat("x", 100_000))), tooMuchText},
		"nesting without end":       {answer("application/json", f.whole(`",`+strings.Repeat("[", 1<<20))), "not JSON"},
		"an error body without end": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			Endless("", "never ")(w, r)
		}, "never"},
		"headers without end": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Long", strings.Repeat("x", 100<<10)) }, "header"},
	}
	if f.frame != nil {
		for _, name := range []string{"a line without end", "an event without end", "comments without end"} {
			delete(cases, name)
		}
		const halfFilled = 1 << 20
		cases["an event without end"] = endlessCase{Endless(f.frame(strings.Repeat(" ", 3<<20))[:halfFilled], "x"), "an event that is larger than 2 MiB"}
		cases["empty events without end"] = endlessCase{Endless("", f.frame("{}"+strings.Repeat(" ", 64<<10))), "larger than 64 MiB"}
	}
	if f.arguments.piece != nil {
		cases["arguments without end"] = endlessCase{Endless(f.arguments.begin, f.arguments.piece(long)), tooMuchText}
	}
	return cases
}

func testEndlessReplies(t *testing.T, s Subject) {
	for name, tc := range endlessCases(newForm(s.API)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := s.serve(t, tc.handler).client(t, wire.Endpoint{}).Complete(t.Context(), Question(), nil)
			got := Failure(t, err)
			if !strings.Contains(got.Message, tc.wantMessage) || len([]rune(got.Message)) > 500 {
				t.Errorf("got %v, want a short error that contains %q", err, tc.wantMessage)
			}
		})
	}
}

func bomb(first, again string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/event-stream")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, first)
		for range 1000 {
			if _, err := io.WriteString(z, again); err != nil {
				return
			}
		}
	}
}

func testModelsBounded(t *testing.T, s Subject) {
	f := newForm(s.API)
	body := f.models(strings.Repeat(f.model+",", (5<<20)/len(f.model)) + f.model)
	_, err := s.serve(t, answer("application/json", body)).client(t, wire.Endpoint{}).Models(t.Context())
	if got := Failure(t, err); got.Kind != model.Oversized || !strings.Contains(got.Message, "larger than 4 MiB") {
		t.Errorf("got %v", err)
	}
}

func testRedirects(t *testing.T, s Subject) {
	other := s.serve(t, http.NotFoundHandler())
	for _, status := range []int{301, 302, 303, 307, 308} {
		client := s.serve(t, http.RedirectHandler(other.address, status)).client(t, wire.Endpoint{})
		_, err := client.Complete(t.Context(), Question(), nil)
		_, listed := client.Models(t.Context())
		for _, err := range []error{err, listed} {
			if got := Failure(t, err); got.Kind != model.NotAllowed || got.Retryable() {
				t.Errorf("%d: got %v", status, err)
			}
		}
	}
	if len(other.requests()) > 0 {
		t.Error("a redirect was followed")
	}
}

func testForbiddenAddresses(t *testing.T, s Subject) {
	p := s.serve(t, http.NotFoundHandler())
	client := p.client(t, wire.Endpoint{HTTPClient: wire.NewHTTPClient(outbound.New(outbound.Options{}))})
	_, err := client.Complete(t.Context(), Question(), nil)
	if got := Failure(t, err); got.Kind != model.NotAllowed || !strings.Contains(got.Message, "loopback") || len(p.requests()) > 0 {
		t.Errorf("got %v", err)
	}
}

// testOtherServices: an address may lead to another service of the network, whose responses must not be readable
// through the errors of a call.
func testOtherServices(t *testing.T, s Subject) {
	for name, handler := range map[string]http.HandlerFunc{
		"text":            answer("text/plain", "secret-word"),
		"lines":           answer("text/event-stream", "data: secret-word\n\n"),
		"JSON":            answer("application/json", `{"token":"secret-word"}`),
		"JSON text":       answer("application/json", `"secret-word"`),
		"broken JSON":     answer("application/json", `{"token":"secret-word"`),
		"a page":          answer("text/html", "<html><body>secret-word</body></html>"),
		"a failing page":  fail(http.StatusForbidden, "<html>secret-word"),
		"JSON of failure": fail(http.StatusBadRequest, `{"token":"secret-word"}`),
		"a second line":   fail(http.StatusBadRequest, "no\nsecret-word"),
		"a long line":     fail(http.StatusBadRequest, strings.Repeat("a ", 100)+"secret-word"),
	} {
		t.Run(name, func(t *testing.T) {
			client := s.serve(t, handler).client(t, wire.Endpoint{})
			_, err := client.Complete(t.Context(), Question(), nil)
			checkNotIn(t, err, "secret-word")
			if _, err := client.Models(t.Context()); err != nil {
				checkNotIn(t, err, "secret-word")
			}
		})
	}
}
