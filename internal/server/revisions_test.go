// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// gatedRole returns a role whose current revision is not promoted.
func gatedRole() map[string]any {
	return map[string]any{
		"kind": "AgentRole", "apiVersion": "nestor.dev/v1beta1",
		"metadata": map[string]any{"name": "coder", "namespace": "default", "uid": "coder-uid", "resourceVersion": "5"},
		"spec":     map[string]any{"promotion": map[string]any{"mode": "Gated"}},
		"status":   map[string]any{"currentRevision": "bbb", "promotedRevision": "aaa"},
	}
}

func revisionOf(digest string, number int) map[string]any {
	return map[string]any{
		"kind": "ControllerRevision", "apiVersion": "apps/v1", "revision": number, "data": map[string]any{"systemPrompt": "You are " + digest + "."},
		"metadata": map[string]any{
			"name": "coder-" + digest, "namespace": "default", "labels": map[string]any{v1beta1.LabelRevision: digest},
			"ownerReferences": []any{map[string]any{"apiVersion": "nestor.dev/v1beta1", "kind": "AgentRole", "name": "coder", "uid": "coder-uid", "controller": true}},
		},
	}
}

func TestRevisionsAreListedAndCompared(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	got := ask(t, u.tokenSite(), http.MethodGet, "/api/namespaces/default/roles/coder/revisions", nil)
	var all struct {
		Items []struct {
			Revision string
			States   []string
		}
		Gated bool
	}
	if err := json.Unmarshal(got.Body.Bytes(), &all); err != nil || !all.Gated || len(all.Items) != 2 || all.Items[0].Revision != "bbb" || all.Items[1].States[0] != "Promoted" {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	got = ask(t, u.tokenSite(), http.MethodGet, "/api/namespaces/default/roles/coder/revisions/diff?from=aaa&to=bbb", nil)
	if body := got.Body.String(); !strings.Contains(body, "-systemPrompt: You are aaa.") || !strings.Contains(body, "+systemPrompt: You are bbb.") {
		t.Errorf("got %d %s", got.Code, body)
	}
}

func TestRevisionIsPromotedAsThePerson(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	got := ask(t, u.tokenSite(), http.MethodPost, "/api/namespaces/default/roles/coder/promote", func(r *http.Request) {
		r.Body = io.NopCloser(strings.NewReader(`{"revision":"bbb"}`))
	})
	if got.Code != http.StatusNoContent {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if got := u.last(t); got.Method != http.MethodPatch || !strings.HasSuffix(got.URL.Path, "/agentroles/coder") || got.Header.Get("Authorization") != "Bearer "+knownToken {
		t.Errorf("sent %s %s", got.Method, got.URL)
	}
}

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
