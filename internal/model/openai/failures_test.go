// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/conformance"
)

// TestVariantsOfErrors has errors that servers of this API report in forms of their own.
func TestVariantsOfErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		script      string
		kind        model.Kind
		retry       bool
		status      int
		wantMessage string
	}{
		"429 for a request that never fits a minute": {
			script: conformance.Reply("error: {status: 429, code: rate_limit_exceeded, message: 'Request too large for gpt on tokens per min (TPM): Limit 30000, Requested 40000.'}"),
			kind:   model.ContextTooLong, status: 429, wantMessage: "Request too large",
		},
		"422": {
			script: conformance.Reply("raw: {status: 422, body: '{\"detail\": [{\"msg\": \"field required\"}]}'}"),
			kind:   model.BadRequest, status: 422, wantMessage: "field required",
		},
		"unknown model by message":    {script: conformance.Reply("raw: {status: 404, body: '{\"error\": \"model \\\"x\\\" not found, try pulling it first\"}'}"), kind: model.UnknownModel, status: 404, wantMessage: "try pulling it first"},
		"context too long by message": {script: conformance.Reply("error: {status: 400, message: 'This model''s maximum context length is 8192 tokens.'}"), kind: model.ContextTooLong, status: 400, wantMessage: "maximum context length"},
		"content filter on the input": {script: conformance.Reply("error: {status: 400, code: content_filter, message: 'The response was filtered.'}"), kind: model.ContentFiltered, status: 400, wantMessage: "filtered"},
		"an error inside the stream with a number": {
			script: events(`{"error":{"message":"Rate limit of the upstream","code":429}}`),
			kind:   model.RateLimited, retry: true, status: 429, wantMessage: "upstream",
		},
		"an error in a list":              {script: conformance.Reply("raw: {status: 400, body: '[{\"error\": {\"code\": 400, \"message\": \"Invalid value\", \"status\": \"INVALID_ARGUMENT\"}}]'}"), kind: model.BadRequest, status: 400, wantMessage: "Invalid value"},
		"a reply without choices":         {script: conformance.RawReply("application/json", `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":0}}`), kind: model.Malformed, retry: true, wantMessage: "the list of choices is empty"},
		"a stream without choices":        {script: events(`{"choices":[]}`, `[DONE]`), kind: model.Malformed, retry: true, wantMessage: "the list of choices is empty"},
		"nothing but the final marker":    {script: events(`[DONE]`), kind: model.Malformed, retry: true, wantMessage: "the list of choices is empty"},
		"a wrong type where text must be": {script: events(`{"choices":"none"}`), kind: model.Malformed, retry: true, wantMessage: "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			client, server := subject().Play(t, tc.script)
			_, err := client.Complete(t.Context(), conformance.Question(), nil)
			failed := conformance.Failure(t, err)
			if failed.Kind != tc.kind || failed.Retryable() != tc.retry || failed.StatusCode != tc.status {
				t.Errorf("got %s, retryable %t, status %d; want %s, %t, %d: %v", failed.Kind, failed.Retryable(), failed.StatusCode, tc.kind, tc.retry, tc.status, err)
			}
			if !strings.Contains(failed.Message, tc.wantMessage) {
				t.Errorf("message %q lacks %q", failed.Message, tc.wantMessage)
			}
			if failed.NeedsCompaction() != (tc.kind == model.ContextTooLong) {
				t.Errorf("compaction: %t", failed.NeedsCompaction())
			}
			if n := len(server.Requests()); n != 1 {
				t.Errorf("%d requests, want one: retries belong to the caller", n)
			}
		})
	}
}
