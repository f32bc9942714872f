// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// failureCase is a script and the failure that it must become.
type failureCase struct {
	script      string
	kind        model.Kind
	retryAfter  time.Duration
	status      int
	wantMessage string
}

// anyStatus is the status of an error that APIs report with different ones.
const anyStatus = -1

// failed is a case of an error with a status that a script has in the form of each API.
func failed(kind model.Kind, status int, wantMessage, fields string) failureCase {
	return failureCase{script: Reply("error: {" + fields + "}"), kind: kind, status: status, wantMessage: wantMessage}
}

func (c failureCase) after(wait time.Duration) failureCase {
	c.retryAfter = wait
	return c
}

func testFailures(t *testing.T, s Subject) {
	cases := reportedFailures()
	for name, tc := range brokenResponses(newForm(s.API)) {
		cases[name] = tc
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := s.play(t, tc.script, scripted.Options{})
			_, err := p.client(t, wire.Endpoint{}).Complete(t.Context(), Question(), nil)
			got := Failure(t, err)
			if got.Kind != tc.kind || tc.status != anyStatus && got.StatusCode != tc.status {
				t.Errorf("got %s, status %d; want %s, %d: %v", got.Kind, got.StatusCode, tc.kind, tc.status, err)
			}
			if got.RetryAfter != tc.retryAfter {
				t.Errorf("retry after %s, want %s", got.RetryAfter, tc.retryAfter)
			}
			if !strings.Contains(got.Message, tc.wantMessage) {
				t.Errorf("message %q lacks %q", got.Message, tc.wantMessage)
			}
			if n := len(p.requests()); n != 1 {
				t.Errorf("the provider was asked %d times, want once: retries belong to the caller", n)
			}
		})
	}
}

func reportedFailures() map[string]failureCase {
	rateLimited := failed(model.RateLimited, 429, "Slow down.", "status: 429, message: Slow down.")
	return map[string]failureCase{
		"429":                             rateLimited,
		"429 with a wait in seconds":      failed(model.RateLimited, 429, "Slow down.", "status: 429, retryAfter: 7s, message: Slow down.").after(7 * time.Second),
		"429 with a wait in milliseconds": failed(model.RateLimited, 429, "Slow down.", "status: 429, retryAfter: 250ms, message: Slow down.").after(250 * time.Millisecond),
		"429 with an excessive wait": failureCase{
			script: Reply("raw: {status: 429, headers: {Retry-After: '1e300'}, body: ''}"), kind: model.RateLimited, status: 429, wantMessage: "Too Many Requests",
		}.after(time.Hour),
		"429 with a date in the past": {
			script: Reply("raw: {status: 429, headers: {Retry-After: 'Sun, 06 Nov 1994 08:49:37 GMT'}, body: ''}"), kind: model.RateLimited, status: 429, wantMessage: "Too Many Requests",
		},
		"402":                  failed(model.QuotaExhausted, 402, "Insufficient Balance", "status: 402, message: Insufficient Balance"),
		"no credit":            failed(model.QuotaExhausted, anyStatus, "", "status: 429, code: insufficient_quota, message: There is no credit left."),
		"500":                  failed(model.Transient, 500, "The server had an error.", "status: 500, message: The server had an error."),
		"503 with a wait":      failed(model.Overloaded, anyStatus, "Loading the model.", "status: 503, retryAfter: 2s, message: Loading the model.").after(2 * time.Second),
		"529":                  failed(model.Overloaded, 529, "Overloaded", "status: 529, message: Overloaded"),
		"408":                  failed(model.Transient, 408, "Timeout", "status: 408, message: Timeout"),
		"401":                  failed(model.Unauthorized, 401, "Incorrect API key provided.", "status: 401, code: invalid_api_key, message: Incorrect API key provided."),
		"403":                  failed(model.Unauthorized, 403, "Country not supported", "status: 403, message: Country not supported"),
		"400":                  failed(model.BadRequest, 400, "Invalid schema for function ls", "status: 400, message: Invalid schema for function ls"),
		"unknown model":        failed(model.UnknownModel, 404, "model", "status: 404, code: model_not_found, message: The model x does not exist"),
		"context too long":     failed(model.ContextTooLong, 400, "", "status: 400, code: context_length_exceeded, message: 'The maximum context length is 8192 tokens.'"),
		"413":                  failed(model.ContextTooLong, 413, "prompt is too long", "status: 413, message: 'prompt is too long: 210000 tokens'"),
		"404 of the path":      {script: Reply("raw: {status: 404, body: '404 page not found'}"), kind: model.BadRequest, status: 404, wantMessage: "check the provider's baseURL"},
		"502 with a page":      {script: Reply("raw: {status: 502, headers: {Content-Type: text/html}, body: '<html>nginx</html>'}"), kind: model.Transient, status: 502, wantMessage: "Bad Gateway"},
		"500 without any text": {script: Reply("raw: {status: 500, body: '{}'}"), kind: model.Transient, status: 500, wantMessage: "Internal Server Error"},
		"an error with status 200": {
			script: Reply("raw: {status: 200, body: '{\"error\": {\"message\": \"no credit\", \"code\": 402}}'}"), kind: model.QuotaExhausted, status: 402, wantMessage: "no credit",
		},
	}
}

// brokenResponses are responses that are not a reply.
func brokenResponses(f form) map[string]failureCase {
	is := func(kind model.Kind, wantMessage, script string) failureCase {
		return failureCase{script: script, kind: kind, wantMessage: wantMessage}
	}
	return map[string]failureCase{
		"the stream is cut":              is(model.Transient, "connection", Reply("text: This is a long answer that is cut.\nchunkSize: 2\nfault: {kind: cut, after: 4}")),
		"the stream is cut at once":      is(model.Transient, "connection", Reply("fault: {kind: cut, after: 0}")),
		"a plain body is cut":            is(model.Transient, "connection", Reply("text: Three.\nunstreamed: true\nfault: {kind: cut}")),
		"malformed JSON in the stream":   is(model.Malformed, "not JSON", Reply("text: Three.\nfault: {kind: malformed, after: 1}")),
		"malformed JSON in a plain body": is(model.Malformed, "not JSON", Reply("text: Three.\nunstreamed: true\nfault: {kind: malformed}")),
		"a page instead of a reply":      is(model.Malformed, "neither JSON nor an event stream", RawReply("text/html", "<html>Please sign in</html>")),
		"an empty body":                  is(model.Malformed, "empty response", Reply("raw: {status: 200, body: ''}")),
		"an object that is no reply":     is(model.Malformed, "", RawReply("application/json", `{}`)),
		"an event that is no reply":      is(model.Malformed, "", RawReply("text/event-stream", f.events(`[1]`))),
	}
}

// testClosedConnection closes a connection that served a call before, without a response to the second call. The
// provider may have made that call, so the client must not send it again: only its caller records that.
func testClosedConnection(t *testing.T, s Subject) {
	replies, calls := NewServer(t, Reply("text: Three."), scripted.Options{Lenient: true}), 0
	p := s.serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls == 1 {
			replies.ServeHTTP(w, r)
			return
		}
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = connection.Close()
	}))
	client := p.client(t, wire.Endpoint{})
	if _, err := client.Complete(t.Context(), FullRequest(), nil); err != nil {
		t.Fatal(err)
	}
	_, err := client.Complete(t.Context(), FullRequest(), nil)
	if got := Failure(t, err); got.Kind != model.Transient {
		t.Errorf("got %v, want Transient", err)
	}
	if n := len(p.requests()); n != 2 {
		t.Errorf("the provider received %d requests for two calls", n)
	}
}

func testRetryAfterAsDate(t *testing.T, s Subject) {
	at := time.Now().Add(90 * time.Second).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
	_, err := s.complete(t, Reply("raw: {status: 429, headers: {Retry-After: '"+at+"'}, body: ''}"))
	if got := Failure(t, err); got.RetryAfter < 80*time.Second || got.RetryAfter > 90*time.Second {
		t.Errorf("got %v, retry after %s; want about 90 s", err, got.RetryAfter)
	}
}

func testLongMessages(t *testing.T, s Subject) {
	_, err := s.complete(t, Reply("error: {status: 400, message: '"+strings.Repeat("ä", 4000)+"'}"))
	if text := Failure(t, err).Error(); len([]rune(text)) > 600 || !strings.HasSuffix(text, "ä…") {
		t.Errorf("got %d bytes: %s", len(text), text)
	}
}

func testErrorInStream(t *testing.T, s Subject) {
	f := newForm(s.API)
	_, err := s.complete(t, RawReply("text/event-stream", f.text.begin+f.text.piece("The")+f.overloaded))
	if got := Failure(t, err); got.Kind != model.Overloaded || got.Message != "The engine is overloaded." {
		t.Errorf("got %v, want Overloaded", err)
	}
	_, err = s.complete(t, RawReply("text/event-stream", f.failed("It broke.")))
	if got := Failure(t, err); got.Kind != model.Transient || got.Message != "It broke." {
		t.Errorf("got %v, want Transient", err)
	}
}

func testStreamThatEndsEarly(t *testing.T, s Subject) {
	f := newForm(s.API)
	_, err := s.complete(t, RawReply("text/event-stream", f.text.begin+f.text.piece("The")))
	if got := Failure(t, err); got.Kind != model.Transient || !strings.Contains(got.Message, "ended before the reply was complete") {
		t.Errorf("got %v, want Transient", err)
	}
}

func testCancel(t *testing.T, s Subject) {
	for name, script := range map[string]string{
		"before the first byte": "fault: {kind: hang}",
		"in the stream":         "text: A long answer.\nchunkSize: 1\nfault: {kind: hang, after: 5}",
		"without a stream":      "unstreamed: true\nfault: {kind: hang}",
		"during the latency":    "text: Later.\nlatency: 1h",
	} {
		t.Run(name, func(t *testing.T) {
			p := s.play(t, Reply(script), scripted.Options{})
			client := p.client(t, wire.Endpoint{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			finished := make(chan error, 1)
			go func() {
				_, err := client.Complete(ctx, Question(), nil)
				finished <- err
			}()
			waitFor(t, func() bool { return len(p.requests()) == 1 })
			cancel()
			err := <-finished
			if got := Failure(t, err); got.Kind != model.Cancelled || got.Retryable() || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want Cancelled", err)
			}
		})
	}
}

func testTimeout(t *testing.T, s Subject) {
	for name, script := range map[string]string{
		"before the first byte": "fault: {kind: hang}",
		"in the stream":         "text: A long answer.\nchunkSize: 1\nfault: {kind: hang, after: 5}",
	} {
		t.Run(name, func(t *testing.T) {
			client := s.play(t, Reply(script), scripted.Options{}).client(t, wire.Endpoint{Timeout: 50 * time.Millisecond})
			_, err := client.Complete(t.Context(), Question(), nil)
			if got := Failure(t, err); got.Kind != model.TimedOut || !got.Retryable() {
				t.Errorf("got %v, want TimedOut", err)
			}
		})
	}
}

func testUnreachable(t *testing.T, s Subject) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	client, err := s.NewClient(wire.Endpoint{BaseURL: s.BaseURL(address) + "?secret=hidden"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Complete(t.Context(), Question(), nil)
	if got := Failure(t, err); got.Kind != model.Transient || strings.Contains(err.Error(), "hidden") {
		t.Errorf("got %v, want Transient without the query of the address", err)
	}
}
