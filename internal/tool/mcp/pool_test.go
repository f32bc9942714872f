// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

func TestNamespacesDoNotShareSessions(t *testing.T) {
	who := addTool(sdk.Tool{Name: "who"}, func(_ context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{text(request.Session.ID())}}, nil
	})
	h := makeHost(t, mcp.StreamableHTTP, lab(who))
	h.setIntercept(legacy)
	c := makeClient(t, mcp.Options{})
	config := describe(h, mcp.StreamableHTTP)
	one := c.connect(t, config)
	if again := c.connect(t, config); again != one {
		t.Error("the same server in the same namespace has two sessions")
	}
	config.Key.Namespace = "team-b"
	other := c.connect(t, config)
	idOne, idOther := run(t.Context(), one, "lab__who", `{}`).Text, run(t.Context(), other, "lab__who", `{}`).Text
	if idOne == idOther {
		t.Errorf("both namespaces use the session %s", idOne)
	}
}

func TestAnotherRevisionReplacesTheSession(t *testing.T) {
	started, finish := make(chan struct{}), make(chan struct{})
	slow := addTool(sdk.Tool{Name: "slow"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		close(started)
		<-finish
		return &sdk.CallToolResult{Content: []sdk.Content{text("finished")}}, nil
	})
	for _, transport := range []mcp.Transport{mcp.StreamableHTTP, mcp.SSE} {
		t.Run(string(transport), func(t *testing.T) {
			started, finish = make(chan struct{}), make(chan struct{})
			c := makeClient(t, mcp.Options{})
			config := describe(makeHost(t, transport, lab(slow)), transport)
			old := c.connect(t, config)
			results := make(chan tool.Result)
			go func() { results <- run(t.Context(), old, "lab__slow", `{}`) }()
			<-started

			config.Revision, config.Prefix = "2", "new__"
			fresh := c.connect(t, config)
			if names := fresh.Tools().Names(); fresh == old || !slices.Equal(names, []string{"new__slow"}) {
				t.Errorf("the new revision has the tools %v", names)
			}
			close(finish)
			if result := <-results; result.Text != "finished" {
				t.Errorf("the call in flight ended with %q", result.Text)
			}
		})
	}
}

func TestRetainEndsSessions(t *testing.T) {
	h := makeHost(t, mcp.StreamableHTTP, lab(addTool(sdk.Tool{Name: "act"}, answer(text("done")))))
	c := makeClient(t, mcp.Options{})
	session := c.connect(t, describe(h, mcp.StreamableHTTP))
	c.Retain(func(key mcp.Key) bool { return key != session.Key() })
	c.waitFor(t, session, reason(mcp.Closed))
	if _, ok := c.Lookup(session.Key()); ok {
		t.Error("an ended session is still found")
	}
	if result := run(t.Context(), session, "lab__act", `{}`); result.Failure != tool.Failed {
		t.Errorf("an ended session answers %q", result.Text)
	}
}

func TestClosedPoolStartsNothing(t *testing.T) {
	h := makeHost(t, mcp.StreamableHTTP, lab())
	pool := mcp.NewPool(mcp.Options{})
	if err := pool.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status := pool.Ensure(describe(h, mcp.StreamableHTTP)).WaitForStatus(t.Context()); status.Ready {
		t.Errorf("status is %+v", status)
	}
}

const secret = "s3cr3t-token-of-team-a"

func bearer(token *atomic.Value) mcp.Headers {
	return func(context.Context) (http.Header, error) {
		return http.Header{"Authorization": {"Bearer " + token.Load().(string)}, "X-Team": {"a"}}, nil
	}
}

func TestHeadersAreReadForEachRequest(t *testing.T) {
	for _, transport := range []mcp.Transport{mcp.StreamableHTTP, mcp.SSE} {
		t.Run(string(transport), func(t *testing.T) {
			h := makeHost(t, transport, lab(addTool(sdk.Tool{Name: "act"}, answer(text("done")))))
			config := describe(h, transport)
			var token atomic.Value
			token.Store("old")
			config.Headers = bearer(&token)
			session := makeClient(t, mcp.Options{}).connect(t, config)
			if slices.Contains(h.headerValues("X-Team"), "") {
				t.Error("a request came without the headers")
			}
			token.Store("new")
			run(t.Context(), session, "lab__act", `{}`)
			if seen := h.headerValues("Authorization"); !slices.Contains(seen, "Bearer new") {
				t.Errorf("the rotated value was not used: %v", seen)
			}
		})
	}
}

func TestSecretsAreRemovedFromErrors(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request, method string, next http.Handler) {
		if method == "tools/call" || r.URL.Path == "/refuse" {
			token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"bad token ` + token + `"}}`))
			return
		}
		next.ServeHTTP(w, r)
	}
	h := makeHost(t, mcp.StreamableHTTP, lab(addTool(sdk.Tool{Name: "act"}, answer(text("done")))))
	h.setIntercept(echo)
	config := describe(h, mcp.StreamableHTTP)
	var token atomic.Value
	token.Store(secret)
	config.Headers = bearer(&token)
	c := makeClient(t, mcp.Options{})

	result := run(t.Context(), c.connect(t, config), "lab__act", `{}`)
	if !strings.Contains(result.Text, "refuses the credentials") || strings.Contains(result.Text, secret) || strings.Contains(result.Err.Error(), secret) {
		t.Errorf("got %q, %v", result.Text, result.Err)
	}
	config.Key.Server, config.URL = "refusing", h.URL+"/refuse?key="+secret
	status := c.Ensure(config).WaitForStatus(t.Context())
	if status.Reason != mcp.Unauthorized || !strings.Contains(status.Message, "check headersFrom") || strings.Contains(status.Message, secret) {
		t.Errorf("status is %+v", status)
	}
}

func TestErrorsHideURLSecret(t *testing.T) {
	h := httptest.NewServer(http.NotFoundHandler())
	h.Close()
	config := mcp.Server{Key: mcp.Key{Server: "lab"}, Transport: mcp.StreamableHTTP, URL: h.URL + "/mcp?key=" + secret}
	status := makeClient(t, mcp.Options{}).Ensure(config).WaitForStatus(t.Context())
	if status.Reason != mcp.ConnectFailed || strings.Contains(status.Message, secret) {
		t.Errorf("status is %+v", status)
	}
}

func TestUnreadableHeadersAreReported(t *testing.T) {
	config := describe(makeHost(t, mcp.StreamableHTTP, lab()), mcp.StreamableHTTP)
	config.Headers = func(context.Context) (http.Header, error) { return nil, errors.New("secret github-token not found") }
	status := makeClient(t, mcp.Options{}).Ensure(config).WaitForStatus(t.Context())
	if status.Ready || !strings.Contains(status.Message, "secret github-token not found") {
		t.Errorf("status is %+v", status)
	}
}

// TestHeadersStayAtTheirOrigin checks that headers are sent only to the configured server.
func TestHeadersStayAtTheirOrigin(t *testing.T) {
	var leaked atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			leaked.Add(1)
		}
	}))
	defer thief.Close()
	var token atomic.Value
	token.Store(secret)
	for name, c := range map[string]struct {
		transport mcp.Transport
		handler   http.HandlerFunc
	}{
		"redirect": {mcp.StreamableHTTP, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
		}},
		"endpoint of another host": {mcp.SSE, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("event: endpoint\ndata: " + thief.URL + "/steal\n\n"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.handler)
			defer server.Close()
			config := mcp.Server{Key: mcp.Key{Server: name}, Transport: c.transport, URL: server.URL, Headers: bearer(&token)}
			if status := makeClient(t, mcp.Options{}).Ensure(config).WaitForStatus(t.Context()); status.Ready {
				t.Errorf("status is %+v", status)
			}
		})
	}
	if leaked.Load() > 0 {
		t.Error("the headers went to another host")
	}
}
