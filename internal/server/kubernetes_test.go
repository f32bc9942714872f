// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestLargeBodyIsRefused(t *testing.T) {
	site := New(Options{Identity: Tokens(newUpstream(t).config, true)})
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodPost, "/k8s"+nestorPrefix+"/namespaces/a/"+chats, strings.NewReader(strings.Repeat("x", maxBody+1)))
	request.Header = http.Header{"Authorization": {"Bearer " + knownToken}, "Content-Type": {"application/json"}}
	site.ServeHTTP(answer, request)
	if answer.Code != http.StatusRequestEntityTooLarge || !strings.Contains(answer.Body.String(), "at most 1280 KiB") {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}
