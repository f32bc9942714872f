// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const draftOfPolicy = `{"spec":{"rules":[{"name":"writes","allowWhen":"call.readOnly"}]},"days":7}`

func postPolicy(t *testing.T, site http.Handler, name, body string) *httptest.ResponseRecorder {
	t.Helper()
	return ask(t, site, http.MethodPost, "/api/namespaces/default/policies/"+name+"/try", func(r *http.Request) {
		r.Body = io.NopCloser(strings.NewReader(body))
	})
}

func TestPoliciesAreReadAsThePerson(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.denied = "/namespaces/nestor-system/"
	got := ask(t, u.tokenSite(), http.MethodGet, "/api/namespaces/default/policies", nil)
	var list struct {
		Items      []any
		Unreadable string
	}
	if err := json.Unmarshal(got.Body.Bytes(), &list); err != nil || list.Items == nil || !strings.Contains(list.Unreadable, "nestor-system") {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if got := u.last(t); got.Header.Get("Authorization") != "Bearer "+knownToken {
		t.Errorf("sent %s %v", got.URL, got.Header)
	}
	u.denied = "/toolpolicies"
	if got := ask(t, u.tokenSite(), http.MethodGet, "/api/namespaces/default/policies", nil); got.Code != http.StatusForbidden {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if got := ask(t, u.tokenSite(), http.MethodGet, "/api/namespaces/..%2fx/policies", nil); got.Code != http.StatusBadRequest {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}

func TestPolicyIsTriedAsThePerson(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	got := postPolicy(t, u.tokenSite(), "draft", draftOfPolicy)
	var trial trialResponse
	if err := json.Unmarshal(got.Body.Bytes(), &trial); err != nil || got.Code != http.StatusOK || trial.Incomplete || trial.Runs != 0 {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if got := u.last(t); !strings.Contains(got.URL.Path, "/transcripts") || got.Header.Get("Authorization") != "Bearer "+knownToken {
		t.Errorf("sent %s %v", got.URL, got.Header)
	}
	u.denied = "/transcripts"
	if got := postPolicy(t, u.tokenSite(), "draft", draftOfPolicy); got.Code != http.StatusForbidden {
		t.Errorf("without transcripts: %d %s", got.Code, got.Body)
	}
}

func TestPolicyDraftIsChecked(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	for body, want := range map[string]string{
		strings.Replace(draftOfPolicy, "call.readOnly", "call.nonsense", 1): "nonsense",
		strings.Replace(draftOfPolicy, `"days":7`, `"days":0`, 1):           "days",
		`{"spec":{},"days":1}`: "no rules",
		`{"spec":`:             "Send JSON",
	} {
		if got := postPolicy(t, u.tokenSite(), "draft", body); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d %s", body, got.Code, got.Body)
		}
	}
	if got := postPolicy(t, u.tokenSite(), "..%2fx", draftOfPolicy); got.Code != http.StatusBadRequest {
		t.Errorf("a wrong name: %d", got.Code)
	}
	if requests := u.acted(); len(requests) > 0 {
		t.Errorf("the API server received %q", requests)
	}
}

// A person cannot occupy the process with expressions.
func TestTrialsAreLimited(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	release := make(chan struct{})
	arrived := make(chan struct{}, maxTrials)
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/agentchats") {
			arrived <- struct{}{}
			<-release
		}
		u.ServeHTTP(w, r)
	}))
	t.Cleanup(behind.Close)
	u.config.Host = behind.URL
	site := u.tokenSite()
	codes := make(chan int, maxTrials)
	for range maxTrials {
		go func() { codes <- postPolicy(t, site, "draft", draftOfPolicy).Code }()
	}
	for range maxTrials {
		<-arrived
	}
	if got := postPolicy(t, site, "draft", draftOfPolicy); got.Code != http.StatusTooManyRequests {
		t.Errorf("another trial: %d %s", got.Code, got.Body)
	}
	close(release)
	for range maxTrials {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("a trial: %d", code)
		}
	}
}
