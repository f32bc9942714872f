// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestInboxOfClusterReader(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.chats = []string{"one"}
	l := openEvents(t, u, "namespace=default&runs=default", "")
	if got := l.next("scope"); got != `{"all":true}` {
		t.Errorf("got %s", got)
	}
	for !strings.Contains(l.next("object"), `{"resource":"runs/agentchats","type":"ADDED"`) {
		continue // the chats of the namespace come, too
	}
	if strings.Contains(l.id, "runs") {
		t.Errorf("the inbox has a position: %s", l.id)
	}
	for _, want := range []string{nestorPrefix + "/agentchats?limit", nestorPrefix + "/agenttasks?labelSelector=%21nestor.dev%2Fchat%2C%21nestor.dev%2Fparent"} {
		waitForRequest(t, u, l, want)
	}
}

// waitForRequest reads events until the API server has received a request.
func waitForRequest(t *testing.T, u *upstream, l *listener, path string) {
	t.Helper()
	for !slices.ContainsFunc(u.requests(), func(request string) bool { return strings.HasPrefix(request, "GET "+path) }) {
		l.next("synced")
	}
}

func TestInboxHasReadableNamespaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		may    map[string]bool
		spaces []string
		query  string
		want   string
	}{
		"from the list":        {map[string]bool{"default": true, "team": true}, []string{"default", "secret", "team"}, "runs=default", `{"namespaces":["default","team"]}`},
		"visited ones":         {map[string]bool{"default": true, "team": true}, nil, "runs=default&runs=team&runs=secret", `{"namespaces":["default","team"]}`},
		"no wrong names":       {map[string]bool{"default": true}, nil, "runs=default&runs=..%2fsecrets", `{"namespaces":["default"]}`},
		"none":                 {map[string]bool{}, nil, "runs=default", `{}`},
		"the current one last": {map[string]bool{"default": true, "team": true}, []string{}, "runs=team", `{"namespaces":["default","team"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUpstream(t)
			u.may, u.spaces = c.may, c.spaces
			l := openEvents(t, u, "namespace=default&"+c.query, "")
			if got := l.next("scope"); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			for _, request := range u.requests() {
				if strings.Contains(request, "namespaces/secret/") || strings.HasPrefix(request, "GET "+nestorPrefix+"/agentchats") {
					t.Errorf("asked %s", request)
				}
			}
		})
	}
}

func TestInboxNamespaceLimit(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.may = map[string]bool{"default": true}
	for i := range maxRunNamespaces + 4 {
		name := "n" + string(rune('a'+i))
		u.may[name] = true
		u.spaces = append(u.spaces, name)
	}
	l := openEvents(t, u, "namespace=default&runs=default", "")
	if got := l.next("scope"); !strings.HasPrefix(got, `{"namespaces":["default","na",`) || !strings.HasSuffix(got, `"omitted":5}`) {
		t.Errorf("got %s", got)
	}
}

func TestRunsOfInboxAreShort(t *testing.T) {
	t.Parallel()
	task := &unstructured.Unstructured{Object: map[string]any{
		"spec":   map[string]any{"role": "coder", "instruction": strings.Repeat("ä", 400), "arguments": map[string]any{"secret": "x"}},
		"status": map[string]any{"phase": "Success", "result": map[string]any{"summary": "Done.", "data": map[string]any{"a": "b"}, "details": "long"}},
	}}
	shortenRun(task)
	want := map[string]any{
		"spec":   map[string]any{"role": "coder", "instruction": strings.Repeat("ä", maxRunText) + "…"},
		"status": map[string]any{"phase": "Success", "result": map[string]any{"summary": "Done."}},
	}
	if diff := cmp.Diff(want, task.Object); diff != "" {
		t.Error(diff)
	}
}
