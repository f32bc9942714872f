// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

func TestFailuresAreClassified(t *testing.T) {
	for name, tc := range map[string]struct {
		script     string
		kind       model.Kind
		retry      bool
		retryAfter time.Duration
		status     int
		says       string
	}{
		"429 with Retry-After in seconds": {
			script: reply("error: {status: 429, retryAfter: 7s, message: Slow down.}"),
			kind:   model.RateLimited, retry: true, retryAfter: 7 * time.Second, status: 429, says: "Slow down.",
		},
		"429 with Retry-After in milliseconds": {
			script: reply("error: {status: 429, retryAfter: 250ms, message: Slow down.}"),
			kind:   model.RateLimited, retry: true, retryAfter: 250 * time.Millisecond, status: 429, says: "Slow down.",
		},
		"429 without Retry-After": {
			script: reply("error: {status: 429, message: Slow down.}"), kind: model.RateLimited, retry: true, status: 429, says: "Slow down.",
		},
		"429 with an excessive Retry-After": {
			script: reply("raw: {status: 429, headers: {Retry-After: '1e300'}, body: ''}"),
			kind:   model.RateLimited, retry: true, retryAfter: time.Hour, status: 429, says: "Too Many Requests",
		},
		"429 with a Retry-After date in the past": {
			script: reply("raw: {status: 429, headers: {Retry-After: 'Sun, 06 Nov 1994 08:49:37 GMT'}, body: ''}"),
			kind:   model.RateLimited, retry: true, status: 429, says: "Too Many Requests",
		},
		"429 for lack of credit": {
			script: reply("error: {status: 429, code: insufficient_quota, message: You exceeded your current quota.}"),
			kind:   model.QuotaExhausted, status: 429, says: "You exceeded your current quota.",
		},
		"402": {
			script: reply("error: {status: 402, message: Insufficient Balance}"), kind: model.QuotaExhausted, status: 402, says: "Insufficient Balance",
		},
		"429 for a request that never fits a minute": {
			script: reply("error: {status: 429, code: rate_limit_exceeded, message: 'Request too large for gpt on tokens per min (TPM): Limit 30000, Requested 40000.'}"),
			kind:   model.ContextTooLong, status: 429, says: "Request too large",
		},
		"500": {script: reply("error: {status: 500, message: The server had an error.}"), kind: model.Transient, retry: true, status: 500, says: "The server had an error."},
		"502 with a page": {
			script: reply("raw: {status: 502, headers: {Content-Type: text/html}, body: '<html>nginx</html>'}"),
			kind:   model.Transient, retry: true, status: 502, says: "Bad Gateway",
		},
		"503 with Retry-After": {
			script: reply("error: {status: 503, retryAfter: 2s, message: Loading the model.}"),
			kind:   model.Overloaded, retry: true, retryAfter: 2 * time.Second, status: 503, says: "Loading the model.",
		},
		"529": {script: reply("error: {status: 529, type: overloaded_error, message: Overloaded}"), kind: model.Overloaded, retry: true, status: 529, says: "Overloaded"},
		"408": {script: reply("error: {status: 408, message: Timeout}"), kind: model.Transient, retry: true, status: 408, says: "Timeout"},
		"401": {script: reply("error: {status: 401, code: invalid_api_key, message: Incorrect API key provided.}"), kind: model.Unauthorized, status: 401, says: "Incorrect API key provided."},
		"403": {script: reply("error: {status: 403, message: Country not supported}"), kind: model.Unauthorized, status: 403, says: "Country not supported"},
		"400": {script: reply("error: {status: 400, message: Invalid schema for function ls}"), kind: model.BadRequest, status: 400, says: "Invalid schema for function ls"},
		"422": {
			script: reply("raw: {status: 422, body: '{\"detail\": [{\"msg\": \"field required\"}]}'}"),
			kind:   model.BadRequest, status: 422, says: "field required",
		},
		"unknown model by code":       {script: reply("error: {status: 404, code: model_not_found, message: 'The model x does not exist'}"), kind: model.UnknownModel, status: 404, says: "does not exist"},
		"unknown model by message":    {script: reply("raw: {status: 404, body: '{\"error\": \"model \\\"x\\\" not found, try pulling it first\"}'}"), kind: model.UnknownModel, status: 404, says: "try pulling it first"},
		"404 of the path":             {script: reply("raw: {status: 404, body: '404 page not found'}"), kind: model.BadRequest, status: 404, says: "check the provider's baseURL"},
		"context too long by code":    {script: reply("error: {status: 400, code: context_length_exceeded, message: Too long.}"), kind: model.ContextTooLong, status: 400, says: "Too long."},
		"context too long by message": {script: reply("error: {status: 400, message: 'This model''s maximum context length is 8192 tokens.'}"), kind: model.ContextTooLong, status: 400, says: "maximum context length"},
		"413":                         {script: reply("error: {status: 413, message: 'prompt is too long: 210000 tokens'}"), kind: model.ContextTooLong, status: 413, says: "prompt is too long"},
		"content filter on the input": {script: reply("error: {status: 400, code: content_filter, message: 'The response was filtered.'}"), kind: model.ContentFiltered, status: 400, says: "filtered"},
		"an error inside the stream": {
			script: events(`{"choices":[{"delta":{"content":"The"}}]}`, `{"error":{"message":"The engine is overloaded.","type":"overloaded_error"}}`),
			kind:   model.Overloaded, retry: true, says: "The engine is overloaded.",
		},
		"an error inside the stream with a number": {
			script: events(`{"error":{"message":"Rate limit of the upstream","code":429}}`),
			kind:   model.RateLimited, retry: true, status: 429, says: "upstream",
		},
		"an error in a list":               {script: reply("raw: {status: 400, body: '[{\"error\": {\"code\": 400, \"message\": \"Invalid value\", \"status\": \"INVALID_ARGUMENT\"}}]'}"), kind: model.BadRequest, status: 400, says: "Invalid value"},
		"an error with status 200":         {script: reply("raw: {status: 200, body: '{\"error\": {\"message\": \"no credit\", \"code\": 402}}'}"), kind: model.QuotaExhausted, status: 402, says: "no credit"},
		"the stream is cut":                {script: reply("text: This is a long answer that is cut.\nchunkSize: 2\nfault: {kind: cut, after: 4}"), kind: model.Transient, retry: true, says: "connection"},
		"the stream is cut at once":        {script: reply("fault: {kind: cut, after: 0}"), kind: model.Transient, retry: true, says: "connection"},
		"the stream ends early":            {script: events(`{"choices":[{"delta":{"content":"The"}}]}`), kind: model.Transient, retry: true, says: "ended before the reply was complete"},
		"a plain body is cut":              {script: reply("text: Three.\nunstreamed: true\nfault: {kind: cut}"), kind: model.Transient, retry: true, says: "connection"},
		"malformed JSON in the stream":     {script: reply("text: Three.\nfault: {kind: malformed, after: 1}"), kind: model.Malformed, retry: true, says: "not JSON"},
		"malformed JSON in a plain body":   {script: reply("text: Three.\nunstreamed: true\nfault: {kind: malformed}"), kind: model.Malformed, retry: true, says: "not JSON"},
		"a page instead of a reply":        {script: rawReply("text/html", "<html>Please sign in</html>"), kind: model.Malformed, retry: true, says: "neither JSON nor an event stream"},
		"an empty body":                    {script: reply("raw: {status: 200, body: ''}"), kind: model.Malformed, retry: true, says: "empty response"},
		"a reply without choices":          {script: rawReply("application/json", `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":0}}`), kind: model.Malformed, retry: true, says: "the list of choices is empty"},
		"a stream without choices":         {script: events(`{"choices":[]}`, `[DONE]`), kind: model.Malformed, retry: true, says: "the list of choices is empty"},
		"nothing but the final marker":     {script: events(`[DONE]`), kind: model.Malformed, retry: true, says: "the list of choices is empty"},
		"a wrong type where text must be":  {script: events(`{"choices":"none"}`), kind: model.Malformed, retry: true, says: "not JSON"},
		"an error without any explanation": {script: reply("raw: {status: 500, body: '{}'}"), kind: model.Transient, retry: true, status: 500, says: "Internal Server Error"},
	} {
		t.Run(name, func(t *testing.T) {
			client, server := playScript(t, tc.script)
			_, err := client.Complete(t.Context(), question(), nil)
			var failed *model.Error
			if !errors.As(err, &failed) {
				t.Fatalf("error is %v, want a *model.Error", err)
			}
			if failed.Kind != tc.kind || failed.Retryable() != tc.retry || failed.StatusCode != tc.status {
				t.Errorf("got %s, retryable %t, status %d; want %s, %t, %d: %v", failed.Kind, failed.Retryable(), failed.StatusCode, tc.kind, tc.retry, tc.status, err)
			}
			if failed.RetryAfter != tc.retryAfter {
				t.Errorf("retry after %s, want %s", failed.RetryAfter, tc.retryAfter)
			}
			if !strings.Contains(failed.Message, tc.says) {
				t.Errorf("message %q lacks %q", failed.Message, tc.says)
			}
			if failed.NeedsCompaction() != (tc.kind == model.ContextTooLong) {
				t.Errorf("compaction: %t", failed.NeedsCompaction())
			}
			if n := len(server.Requests()); n != 1 {
				t.Errorf("the provider was asked %d times, want once: retries belong to the caller", n)
			}
		})
	}
}

func TestRetryAfterAsDate(t *testing.T) {
	at := time.Now().Add(90 * time.Second).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
	client, _ := playScript(t, reply("raw: {status: 429, headers: {Retry-After: '"+at+"'}, body: ''}"))
	_, err := client.Complete(t.Context(), question(), nil)
	var failed *model.Error
	if !errors.As(err, &failed) || failed.RetryAfter < 80*time.Second || failed.RetryAfter > 90*time.Second {
		t.Errorf("got %v, retry after %s; want about 90 s", err, failed.RetryAfter)
	}
}

func TestCancelledCallIsNotAProviderFailure(t *testing.T) {
	for name, fault := range map[string]string{
		"before the first byte": "fault: {kind: hang}",
		"in the stream":         "text: A long answer.\nchunkSize: 1\nfault: {kind: hang, after: 5}",
		"without a stream":      "unstreamed: true\nfault: {kind: hang}",
		"during the latency":    "text: Later.\nlatency: 1h",
	} {
		t.Run(name, func(t *testing.T) {
			client, server := playScript(t, reply(fault))
			ctx, cancel := context.WithCancel(t.Context())
			finished := make(chan error, 1)
			go func() {
				_, err := client.Complete(ctx, question(), nil)
				finished <- err
			}()
			waitFor(t, func() bool { return len(server.Requests()) == 1 })
			cancel()
			err := <-finished
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Kind != model.Cancelled || failed.Retryable() {
				t.Errorf("got %v, want Cancelled", err)
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v does not wrap context.Canceled", err)
			}
		})
	}
}

func TestTimeoutIsRetryable(t *testing.T) {
	for name, fault := range map[string]string{
		"before the first byte": "fault: {kind: hang}",
		"in the stream":         "text: A long answer.\nchunkSize: 1\nfault: {kind: hang, after: 5}",
	} {
		t.Run(name, func(t *testing.T) {
			script, err := scripted.Parse("test.yaml", []byte(reply(fault)))
			if err != nil {
				t.Fatal(err)
			}
			client := connect(t, scripted.NewServer(scripted.Options{Scripts: []*scripted.Script{script}}), 50*time.Millisecond)
			_, err = client.Complete(t.Context(), question(), nil)
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Kind != model.TimedOut || !failed.Retryable() {
				t.Errorf("got %v, want TimedOut", err)
			}
		})
	}
}

func TestUnreachableProviderIsTransient(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	client, err := openai.NewClient(wire.Endpoint{BaseURL: "http://" + address + "/v1?secret=hidden"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Complete(t.Context(), question(), nil)
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Kind != model.Transient {
		t.Fatalf("got %v, want Transient", err)
	}
	if strings.Contains(err.Error(), "hidden") {
		t.Errorf("the address's query is in the error: %v", err)
	}
}

// waitFor polls until condition reports true.
func waitFor(t testing.TB, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the condition did not come true within 10 seconds")
		}
	}
}
