// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

func TestMethodsOfEarlierVersions(t *testing.T) {
	for _, test := range []struct {
		body, accept string
		code         int // 0: it is not refused
	}{
		{`{"jsonrpc":"2.0","id":7,"method":"message/send","params":{}}`, "application/json", http.StatusOK},
		{`{"jsonrpc":"2.0","id":7,"method":"message/stream","params":{}}`, "text/event-stream", http.StatusBadRequest},
		{`{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{}}`, "application/json", 0},
		{`not JSON`, "application/json", 0},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(test.body))
		r.Header.Set("Accept", test.accept)
		w := httptest.NewRecorder()
		refused := refuseOldMethod(w, r)
		if rest, err := io.ReadAll(r.Body); err != nil || !refused && string(rest) != test.body {
			t.Errorf("%s: the body is %q, %v", test.body, rest, err)
		}
		if refused != (test.code != 0) {
			t.Errorf("%s: refused: %v", test.body, refused)
		}
		if !refused {
			continue
		}
		var answer struct {
			ID    int
			Error struct {
				Code    int
				Message string
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != test.code ||
			answer.ID != 7 || answer.Error.Code != codeVersion || !strings.Contains(answer.Error.Message, "A2A 1.0") {
			t.Errorf("%s: %d %s, %v", test.body, w.Code, w.Body, err)
		}
	}
}

func TestCardForEarlierVersions(t *testing.T) {
	const url = "https://gateway/a2a/team-a/reviewer"
	text, err := json.Marshal(newOldCard(&a2a.AgentCard{Name: "reviewer", Version: "1"}, url))
	if err != nil {
		t.Fatal(err)
	}
	var card map[string]any
	if err := json.Unmarshal(text, &card); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{
		"name": "reviewer", "version": "1", "url": url, "preferredTransport": "JSONRPC", "protocolVersion": "1.0",
	} {
		if card[field] != want {
			t.Errorf("%s is %v, want %s", field, card[field], want)
		}
	}
}
