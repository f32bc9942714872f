// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
)

const searchKey = "tvly-secret-0123456789"

type keys map[string]string

func (k keys) SearchKey(_ context.Context, namespace string) (string, error) {
	key, ok := k[namespace]
	if !ok {
		return "", fmt.Errorf("namespace %s: %w", namespace, builtin.ErrNoKey)
	}
	return key, nil
}

// tavily is a local server that imitates Tavily's API.
type tavily struct {
	requests []map[string]any
}

func (s *tavily) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/search" {
		http.NotFound(w, r)
		return
	}
	reply := func(status int, body string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
	if r.Header.Get("Authorization") != "Bearer "+searchKey {
		reply(http.StatusUnauthorized, `{"detail":{"error":"Unauthorized: invalid key `+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+`"}}`)
		return
	}
	var request map[string]any
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		reply(http.StatusUnprocessableEntity, `{"detail":[{"msg":"bad body"}]}`)
		return
	}
	s.requests = append(s.requests, request)
	switch request["query"] {
	case "nothing":
		reply(http.StatusOK, `{"query":"nothing","results":[],"response_time":0.4}`)
	case "too often":
		reply(http.StatusTooManyRequests, `{"detail":{"error":"Your request has been blocked due to excessive requests."}}`)
	case "used up":
		reply(432, `{"detail":{"error":"This request exceeds your plan's set usage limit."}}`)
	case "bad":
		reply(http.StatusBadRequest, `{"detail":{"error":"Query is too long."}}`)
	case "broken":
		reply(http.StatusBadGateway, `<html>bad gateway for `+searchKey+`</html>`)
	case "not json":
		reply(http.StatusOK, `<html>hello `+searchKey+`</html>`)
	case "elsewhere":
		http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
	default:
		reply(http.StatusOK, `{"query":"x","answer":null,"images":[],"results":[
			{"title":"Go 1.26 Release Notes","url":"https://go.dev/doc/go1.26","content":" What is new. ","score":0.98,"raw_content":null},
			{"title":"Go blog","url":"https://go.dev/blog","content":"News.","score":0.5,"published_date":"Tue, 10 Feb 2026"}
		],"response_time":1.1,"request_id":"r1"}`)
	}
}

func makeSearch(t *testing.T, k keys) (*tavily, tool.Set) {
	t.Helper()
	service := &tavily{}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	return service, makeSet(t, builtin.Options{Search: &builtin.Search{Keys: k, BaseURL: server.URL + "/"}})
}

func TestWebSearchFindsPages(t *testing.T) {
	service, set := makeSearch(t, keys{"team-a": searchKey})
	result := execute(t, set, builtin.WebSearch, `{"query":"go 1.26","topic":"news","time_range":"month","max_results":2.0,"include_domains":["go.dev"]}`)
	want := "1. Go 1.26 Release Notes\n   https://go.dev/doc/go1.26\n   What is new.\n\n" +
		"2. Go blog\n   https://go.dev/blog\n   Published: Tue, 10 Feb 2026\n   News."
	if diff := cmp.Diff(want, result.Text); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	sent := []map[string]any{{
		"query": "go 1.26", "topic": "news", "time_range": "month", "max_results": 2.0, "include_domains": []any{"go.dev"},
	}}
	if diff := cmp.Diff(sent, service.requests); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestWebSearchFailuresHideKey(t *testing.T) {
	_, set := makeSearch(t, keys{"team-a": searchKey})
	for query, want := range map[string]string{
		"nothing":   "Nothing was found",
		"too often": "excessive requests",
		"used up":   "continue without web search",
		"bad":       "change the query",
		"broken":    "status 502",
		"not json":  "unexpected answer",
		"elsewhere": "status 307",
	} {
		result := execute(t, set, builtin.WebSearch, fmt.Sprintf(`{"query":%q}`, query))
		if !strings.Contains(result.Text, want) {
			t.Errorf("%s: got %q, want %q", query, result.Text, want)
		}
		checkNoKey(t, result)
	}
}

func TestWebSearchWithoutKey(t *testing.T) {
	for _, k := range []keys{{}, {"team-a": ""}} {
		_, set := makeSearch(t, k)
		result := execute(t, set, builtin.WebSearch, `{"query":"anything"}`)
		for _, want := range []string{"namespace team-a", "nestor-tools", "TAVILY_API_KEY"} {
			if result.Failure != tool.Failed || !strings.Contains(result.Text, want) {
				t.Errorf("got %s: %q, want %q", result.Failure, result.Text, want)
			}
		}
	}
}

func TestWebSearchWithRefusedKey(t *testing.T) {
	_, set := makeSearch(t, keys{"team-a": "tvly-revoked"})
	result := execute(t, set, builtin.WebSearch, `{"query":"anything"}`)
	if !strings.Contains(result.Text, "an operator must replace it") || strings.Contains(result.Text, "tvly-revoked") {
		t.Errorf("got %q", result.Text)
	}
}

func TestWebSearchWithoutServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	set := makeSet(t, builtin.Options{Search: &builtin.Search{Keys: keys{"team-a": searchKey}, BaseURL: server.URL}})
	result := execute(t, set, builtin.WebSearch, `{"query":"anything"}`)
	if !strings.Contains(result.Text, "cannot be reached") {
		t.Errorf("got %q", result.Text)
	}
	checkNoKey(t, result)
}

func TestWebSearchStopsWithContext(t *testing.T) {
	_, set := makeSearch(t, keys{"team-a": searchKey})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the chat was deleted"))
	result := tool.Executor{}.Execute(ctx, set, tool.Invocation{Name: builtin.WebSearch, Namespace: "team-a", Arguments: []byte(`{"query":"anything"}`)})
	if result.Failure != tool.Cancelled {
		t.Errorf("got %s: %q", result.Failure, result.Text)
	}
}

func checkNoKey(t *testing.T, result tool.Result) {
	t.Helper()
	if strings.Contains(result.Text, searchKey) || result.Err != nil && strings.Contains(result.Err.Error(), searchKey) {
		t.Errorf("the key shows: %q, %v", result.Text, result.Err)
	}
}
