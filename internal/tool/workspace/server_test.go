// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/tool/workspace"
)

func TestToolsHaveHintsAndSchema(t *testing.T) {
	c := serve(t, nil)
	listed, err := c.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	type nature struct{ ReadOnly, Idempotent bool }
	got := map[string]nature{}
	for _, tool := range listed.Tools {
		got[tool.Name] = nature{tool.Annotations.ReadOnlyHint, tool.Annotations.IdempotentHint}
		if len(tool.Description) < 40 {
			t.Errorf("%s has no useful description: %q", tool.Name, tool.Description)
		}
		schema, ok := tool.InputSchema.(map[string]any)
		if !ok {
			t.Fatalf("%s has no schema", tool.Name)
		}
		properties, _ := schema["properties"].(map[string]any)
		if _, ok := properties["cwd"]; !ok {
			t.Errorf("%s takes no cwd", tool.Name)
		}
		for name, property := range properties {
			fields, _ := property.(map[string]any)
			if description, _ := fields["description"].(string); description == "" {
				t.Errorf("%s: argument %s has no description", tool.Name, name)
			}
			if _, ok := fields["type"].(string); !ok {
				t.Errorf("%s: argument %s has the type %v; some models accept only one", tool.Name, name, fields["type"])
			}
		}
	}
	reads := nature{ReadOnly: true, Idempotent: true}
	want := map[string]nature{
		"read": reads, "ls": reads, "glob": reads, "grep": reads, "keyword_search": reads, "read_image": reads,
		"write": {Idempotent: true}, "patch": {}, "bash": {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

func TestReadOnlyWorkspaceOffersNoWriter(t *testing.T) {
	c := serve(t, nil, func(o *workspace.Options) { o.ReadOnly = true })
	listed, err := c.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(listed.Tools))
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"glob", "grep", "keyword_search", "ls", "read", "read_image"}, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if _, err := c.try(t.Context(), "write", args{"path": "a", "content": "b"}); err == nil {
		t.Error("write was possible")
	}
}

func TestRequestsNeedTheToken(t *testing.T) {
	c := serve(t, map[string]string{"a.txt": "text"})
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic " + token, "Bearer " + token + "x", "Bearer " + token[:31], token} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			r, err := http.NewRequestWithContext(t.Context(), method, c.url, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if header != "" {
				r.Header.Set("Authorization", header)
			}
			expect(t, r, http.StatusUnauthorized, "bearer token is required")
		}
	}
	if _, err := c.tryConnect("wrong"); err == nil {
		t.Error("a client with a wrong token connected")
	}
	if _, err := c.tryConnect(""); err == nil {
		t.Error("a client without a token connected")
	}
}

func TestHealthNeedsNoToken(t *testing.T) {
	c := serve(t, nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, r, http.StatusOK, "ok")
}

func TestBrowsersOnOtherSitesAreRefused(t *testing.T) {
	c := serve(t, nil)
	for name, change := range map[string]func(*http.Request){
		"foreign origin":  func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"cross-site":      func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"rebound by name": func(r *http.Request) { r.Host = "evil.example" },
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			change(r)
			expect(t, r, http.StatusForbidden, "")
		})
	}
}

func TestArgumentsAreCheckedFirst(t *testing.T) {
	c := serve(t, map[string]string{"a.txt": "text"})
	for name, call := range map[string]struct {
		tool string
		args args
	}{
		"missing":  {"read", args{}},
		"unknown":  {"read", args{"path": "a.txt", "file": "a.txt"}},
		"type":     {"read", args{"path": 7}},
		"fraction": {"read", args{"path": "a.txt", "offset": 1.5}},
		"negative": {"read", args{"path": "a.txt", "limit": -1}},
		"null":     {"keyword_search", args{"keywords": nil}},
		"empty":    {"keyword_search", args{"keywords": []string{}}},
		"list":     {"patch", args{"path": "a.txt", "edits": "text"}},
		"member":   {"patch", args{"path": "a.txt", "edits": []any{args{"old_string": "text"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := c.try(t.Context(), call.tool, call.args)
			if err == nil && !result.IsError {
				t.Errorf("accepted: %s", resultText(result))
			}
		})
	}
	if got := get(t, c.root+"/a.txt"); got != "text" {
		t.Errorf("a.txt was changed to %q", got)
	}
}

func TestWorkspaceWithoutTokenIsRefused(t *testing.T) {
	if _, err := workspace.New(workspace.Options{Root: t.TempDir()}); err == nil {
		t.Error("no error")
	}
}

func expect(t *testing.T, r *http.Request, status int, body string) {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != status || !strings.Contains(string(got), body) {
		t.Errorf("%s %s: got %s: %s, want %d", r.Method, r.URL, response.Status, got, status)
	}
	if strings.Contains(string(got), token) {
		t.Error("the answer has the token")
	}
}
