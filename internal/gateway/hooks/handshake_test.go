// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"net/http"
	"strings"
	"testing"
)

func TestCloudEventsHandshake_TriggerNotRevealed(t *testing.T) {
	url := serveHooks(t, &operator{})
	for _, path := range []string{"/hooks/team-a/events", "/hooks/team-a/nothing"} {
		r := newRequest(t, url+path, "", "Authorization", "", "WebHook-Request-Origin", "sender.example.com")
		r.Method = http.MethodOptions
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK || answer.Header.Get("WebHook-Allowed-Origin") != "sender.example.com" ||
			answer.Header.Get("WebHook-Allowed-Rate") == "" || !strings.Contains(answer.Header.Get("Allow"), http.MethodPost) {
			t.Errorf("%s: %s, %v", path, answer.Status, answer.Header)
		}
	}
}
