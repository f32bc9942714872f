// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// triggerAPI imitates an API server with one trigger, and keeps the patches that it gets.
type triggerAPI struct {
	mu          sync.Mutex
	annotations map[string]string
	patches     []map[string]any
	code        int // of the answer to a patch
}

func (a *triggerAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case strings.HasSuffix(r.URL.Path, "/selfsubjectreviews"):
		reply(w, map[string]any{"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "status": map[string]any{"userInfo": map[string]any{"username": "alice"}}})
	case r.Method == http.MethodPatch && a.code != 0:
		status(w, a.code, "Forbidden", "you may not patch it")
	case r.URL.Path == nestorPrefix+"/namespaces/default/agenttriggers/nightly":
		if r.Method == http.MethodPatch {
			var patch map[string]any
			body, _ := io.ReadAll(r.Body)
			_ = json.Unmarshal(body, &patch) // an empty patch fails the test
			a.patches = append(a.patches, patch)
		}
		reply(w, map[string]any{"kind": "AgentTrigger", "apiVersion": "nestor.dev/v1beta1", "metadata": map[string]any{"name": "nightly", "namespace": "default", "resourceVersion": "7", "annotations": a.annotations}})
	default:
		status(w, http.StatusNotFound, "NotFound", "there is no such object")
	}
}

// fireAt sends a request to fire a trigger to a page in front of an API server.
func fireAt(t *testing.T, api *triggerAPI, name, contentType, body string) *httptest.ResponseRecorder {
	t.Helper()
	upstream := httptest.NewServer(api)
	t.Cleanup(upstream.Close)
	u := &upstreamIdentity{config: &rest.Config{Host: upstream.URL}}
	request := httptest.NewRequest(http.MethodPost, "/k8s"+nestorPrefix+"/namespaces/default/agenttriggers/"+name+"/fire", strings.NewReader(body))
	request.Header.Set("Content-Type", contentType)
	answer := httptest.NewRecorder()
	New(Options{Identity: u}).ServeHTTP(answer, request)
	return answer
}

type upstreamIdentity struct{ config *rest.Config }

func (u *upstreamIdentity) Config(*http.Request) (*rest.Config, error) { return u.config, nil }
func (u *upstreamIdentity) SignIn() string                             { return "token" }
func (u *upstreamIdentity) Routes(*http.ServeMux)                      {}

func TestFireWritesOnlyTheRequest(t *testing.T) {
	t.Parallel()
	api := &triggerAPI{}
	answer := fireAt(t, api, "nightly", "application/json", `{"body": {"go": true}, "spec": {"suspend": true}, "metadata": {}}`)
	var got struct{ ID string }
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || answer.Code != http.StatusOK || got.ID == "" || len(api.patches) != 1 {
		t.Fatalf("%d %s, patches %v", answer.Code, answer.Body, api.patches)
	}
	metadata, _ := api.patches[0]["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if len(api.patches[0]) != 1 || len(metadata) != 2 || len(annotations) != 2 || metadata["resourceVersion"] != "7" || annotations[v1beta1.AnnotationFireUser] != "alice" {
		t.Errorf("patch %v", api.patches[0])
	}
	if want := `{"id":"` + got.ID + `","body":{"go":true}}`; annotations[v1beta1.AnnotationFire] != want {
		t.Errorf("request %v, want %s", annotations[v1beta1.AnnotationFire], want)
	}
}

func TestFireIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		api                        *triggerAPI
		trigger, contentType, body string
		code                       int
	}{
		"an earlier request":     {&triggerAPI{annotations: map[string]string{v1beta1.AnnotationFire: `{"id": "1"}`}}, "nightly", "application/json", `{}`, http.StatusConflict},
		"no right":               {&triggerAPI{code: http.StatusForbidden}, "nightly", "application/json", `{}`, http.StatusForbidden},
		"no trigger":             {&triggerAPI{}, "daily", "application/json", `{}`, http.StatusNotFound},
		"a form":                 {&triggerAPI{}, "nightly", "text/plain", `{}`, http.StatusUnsupportedMediaType},
		"no JSON":                {&triggerAPI{}, "nightly", "application/json", `{"body": `, http.StatusBadRequest},
		"too much":               {&triggerAPI{}, "nightly", "application/json", `{"body": "` + strings.Repeat("x", maxFire) + `"}`, http.StatusBadRequest},
		"a name that is no name": {&triggerAPI{}, "Nightly", "application/json", `{}`, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if answer := fireAt(t, test.api, test.trigger, test.contentType, test.body); answer.Code != test.code || len(test.api.patches) > 0 {
				t.Errorf("got %d %s, want %d", answer.Code, answer.Body, test.code)
			}
		})
	}
}
