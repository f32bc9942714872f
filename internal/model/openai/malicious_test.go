// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// serve connects a client to a provider with the given handler.
func serve(t *testing.T, handler http.HandlerFunc) *openai.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	client, err := openai.NewClient(wire.Endpoint{BaseURL: server.URL, Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// stream sends text repeatedly until the client disconnects or a gigabyte was sent.
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

func chunk(delta string) string { return `data: {"choices":[{"delta":` + delta + "}]}\n\n" }

// TestEndlessCallsAreRejected has endless tool calls as only this API can send them.
func TestEndlessCallsAreRejected(t *testing.T) {
	for name, tc := range map[string]struct {
		handler     http.HandlerFunc
		wantMessage string
	}{
		"a name without end":       {stream("", chunk(`{"tool_calls":[{"index":0,"function":{"name":"abcdefgh"}}]}`)+chunk(`{"tool_calls":[{"index":0,"function":{"name":"ijkl"}}]}`)), "a name or an id that is too long"},
		"calls that repeat a name": {stream("", chunk(`{"tool_calls":[{"function":{"name":"ls","arguments":"[0"}}]}`)), "more than 1 MiB of text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := serve(t, tc.handler).Complete(t.Context(), question(), nil)
			var failed *model.Error
			if !errors.As(err, &failed) || !strings.Contains(failed.Message, tc.wantMessage) {
				t.Errorf("got %v, want an error that contains %q", err, tc.wantMessage)
			}
			if failed != nil && len([]rune(failed.Message)) > 500 {
				t.Errorf("the message has %d bytes", len(failed.Message))
			}
		})
	}
}
