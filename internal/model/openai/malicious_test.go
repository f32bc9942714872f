// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/model/conformance"
)

func chunk(delta string) string { return `data: {"choices":[{"delta":` + delta + "}]}\n\n" }

// TestEndlessCallsAreRejected has endless tool calls as only this API can send them.
func TestEndlessCallsAreRejected(t *testing.T) {
	for name, tc := range map[string]struct {
		handler     http.HandlerFunc
		wantMessage string
	}{
		"a name without end":       {conformance.Endless("", chunk(`{"tool_calls":[{"index":0,"function":{"name":"abcdefgh"}}]}`)+chunk(`{"tool_calls":[{"index":0,"function":{"name":"ijkl"}}]}`)), "a name or an id that is too long"},
		"calls that repeat a name": {conformance.Endless("", chunk(`{"tool_calls":[{"function":{"name":"ls","arguments":"[0"}}]}`)), "more than 1 MiB of text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := subject().Connect(t, tc.handler).Complete(t.Context(), conformance.Question(), nil)
			failed := conformance.Failure(t, err)
			if !strings.Contains(failed.Message, tc.wantMessage) || len([]rune(failed.Message)) > 500 {
				t.Errorf("got %v, want a short error that contains %q", err, tc.wantMessage)
			}
		})
	}
}
