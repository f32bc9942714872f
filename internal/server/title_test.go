// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func TestOnlyTitleCanChange(t *testing.T) {
	t.Parallel()
	path := "/k8s" + nestorPrefix + "/namespaces/default/agentchats/talk/title"
	for name, c := range map[string]struct {
		path, contentType, body string
		code                    int
		patch                   string // that reaches the API server
	}{
		"a title":         {path, "application/json", `{"title": " The move "}`, 200, `{"metadata":{"annotations":{"nestor.dev/title":"The move"}}}`},
		"no title":        {path, "application/json", `{"title": ""}`, 200, `{"metadata":{"annotations":{"nestor.dev/title":null}}}`},
		"nothing else":    {path, "application/json", `{"title": "x", "spec": {"role": "admin"}, "metadata": {"labels": {"a": "b"}}}`, 200, `{"metadata":{"annotations":{"nestor.dev/title":"x"}}}`},
		"two lines":       {path, "application/json", `{"title": "one\ntwo"}`, 400, ""},
		"too long":        {path, "application/json", `{"title": "` + strings.Repeat("ä", maxTitle+1) + `"}`, 400, ""},
		"no JSON":         {path, "application/json", `title`, 400, ""},
		"a form":          {path, "text/plain", `{"title": "x"}`, 415, ""},
		"a way out":       {"/k8s" + nestorPrefix + "/namespaces/default/agentchats/..%2fsecrets/title", "application/json", `{"title": "x"}`, 400, ""},
		"of a task":       {"/k8s" + nestorPrefix + "/namespaces/default/agenttasks/talk/title", "application/json", `{"title": "x"}`, 404, ""},
		"the longest one": {path, "application/json", `{"title": "` + strings.Repeat("ä", maxTitle) + `"}`, 200, `{"metadata":{"annotations":{"nestor.dev/title":"` + strings.Repeat("ä", maxTitle) + `"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patch := ""
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/selfsubjectreviews") {
					reply(w, map[string]any{"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"})
					return
				}
				body, _ := io.ReadAll(r.Body) // an empty patch fails the test
				patch = r.Method + " " + r.URL.Path + " " + string(body)
				reply(w, object("talk", "2"))
			}))
			t.Cleanup(upstream.Close)
			request := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(c.body))
			request.Header.Set("Content-Type", c.contentType)
			answer := httptest.NewRecorder()
			New(Options{Identity: &upstreamIdentity{config: &rest.Config{Host: upstream.URL}}}).ServeHTTP(answer, request)
			if answer.Code != c.code {
				t.Errorf("got %d, want %d: %s", answer.Code, c.code, answer.Body)
			}
			want := ""
			if c.patch != "" {
				want = "PATCH " + nestorPrefix + "/namespaces/default/agentchats/talk " + c.patch
			}
			if patch != want {
				t.Errorf("the API server got %q, want %q", patch, want)
			}
		})
	}
}
