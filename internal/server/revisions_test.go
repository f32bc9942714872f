// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestRevisionsAreReadAsThePerson(t *testing.T) {
	t.Parallel()
	for _, denied := range []string{"/agentroles", "/controllerrevisions"} {
		u := newUpstream(t)
		u.denied = denied
		for _, path := range []string{"/revisions", "/revisions/diff?from=a&to=b"} {
			if got := ask(t, u.tokenSite(), http.MethodGet, "/api/namespaces/default/roles/coder"+path, nil); got.Code != http.StatusForbidden {
				t.Errorf("without %s: %s: %d %s", denied, path, got.Code, got.Body)
			}
		}
		if got := u.last(t); got.Header.Get("Authorization") != "Bearer "+knownToken {
			t.Errorf("sent %s %v", got.URL, got.Header)
		}
	}
}

func TestOnlyRecordedRevisionsArePromoted(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	for path, body := range map[string]string{
		"/api/namespaces/default/roles/coder/promote":   `{"revision":"abc"}`,
		"/api/namespaces/default/roles/..%2fx/promote":  `{"revision":"abc"}`,
		"/api/namespaces/default/roles/coder/promote?x": `{"revision":`,
	} {
		got := ask(t, u.tokenSite(), http.MethodPost, path, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(body)) })
		if got.Code != http.StatusBadRequest {
			t.Errorf("%s %s: %d %s", path, body, got.Code, got.Body)
		}
	}
	for _, request := range u.acted() {
		if !strings.HasPrefix(request, http.MethodGet+" ") {
			t.Errorf("the API server received %s", request)
		}
	}
}
