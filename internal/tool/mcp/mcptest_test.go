// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/test/patience"
)

// host serves an MCP server over HTTP on loopback, with injectable faults.
type host struct {
	*httptest.Server
	mu        sync.Mutex
	handler   http.Handler
	intercept func(w http.ResponseWriter, r *http.Request, method string, next http.Handler)
	headers   []http.Header
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var message struct{ Method string }
	_ = json.Unmarshal(body, &message) // a GET has no message

	h.mu.Lock()
	h.headers = append(h.headers, r.Header.Clone())
	intercept, handler := h.intercept, h.handler
	h.mu.Unlock()
	if intercept != nil {
		intercept(w, r, message.Method, handler)
		return
	}
	handler.ServeHTTP(w, r)
}

// headerValues returns the values of a header in all requests so far.
func (h *host) headerValues(name string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	values := make([]string, 0, len(h.headers))
	for _, header := range h.headers {
		values = append(values, header.Get(name))
	}
	return values
}

func (h *host) setIntercept(intercept func(w http.ResponseWriter, r *http.Request, method string, next http.Handler)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.intercept = intercept
}

// restart drops all sessions, like a restarted server process.
func (h *host) restart(server *sdk.Server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handler = newHandler(mcp.StreamableHTTP, server)
}

func newHandler(transport mcp.Transport, server *sdk.Server) http.Handler {
	get := func(*http.Request) *sdk.Server { return server }
	if transport == mcp.SSE {
		return sdk.NewSSEHandler(get, nil)
	}
	return sdk.NewStreamableHTTPHandler(get, nil)
}

// legacy behaves like a server that predates server/discover, as most do.
func legacy(w http.ResponseWriter, r *http.Request, method string, next http.Handler) {
	if method == "server/discover" {
		http.Error(w, "unknown method", http.StatusBadRequest)
		return
	}
	next.ServeHTTP(w, r)
}

func makeHost(t *testing.T, transport mcp.Transport, server *sdk.Server) *host {
	t.Helper()
	h := &host{handler: newHandler(transport, server)}
	h.Server = httptest.NewServer(h)
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return h
}

// client is a pool whose pauses are controlled by the test.
type client struct {
	*mcp.Pool
	pauses  chan int      // receives the number of each attempt
	resume  chan struct{} // ends a pause
	changed chan struct{} // receives a value after each change
}

func makeClient(t *testing.T, options mcp.Options) *client {
	t.Helper()
	c := &client{pauses: make(chan int), resume: make(chan struct{}), changed: make(chan struct{}, 1)}
	options.Wait = func(ctx context.Context, attempt int) error {
		select {
		case c.pauses <- attempt:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-c.resume:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	options.Changed = func(mcp.Key) {
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
	c.Pool = mcp.NewPool(options)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience.Limit())
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("close pool: %v", err)
		}
	})
	return c
}

// waitFor waits until matches reports true for the session's status.
func (c *client) waitFor(t *testing.T, session *mcp.Session, matches func(mcp.Status) bool) mcp.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience.Limit())
	defer cancel()
	for {
		if status := session.Status(); matches(status) {
			return status
		}
		select {
		case <-c.changed:
		case <-ctx.Done():
			t.Fatalf("the status stays %+v", session.Status())
		}
	}
}

func reason(want mcp.Reason) func(mcp.Status) bool {
	return func(status mcp.Status) bool { return status.Reason == want }
}

func (c *client) connect(t *testing.T, server mcp.Server) *mcp.Session {
	t.Helper()
	session := c.Ensure(server)
	if status := session.WaitForStatus(t.Context()); !status.Ready {
		t.Fatalf("not connected: %+v", status)
	}
	return session
}

// connect returns a session with a server over streamable HTTP.
func connect(t *testing.T, server *sdk.Server) (*host, *mcp.Session) {
	t.Helper()
	h := makeHost(t, mcp.StreamableHTTP, server)
	return h, makeClient(t, mcp.Options{}).connect(t, describe(h, mcp.StreamableHTTP))
}

func describe(h *host, transport mcp.Transport) mcp.Server {
	return mcp.Server{
		Key: mcp.Key{Namespace: "team-a", Server: "lab"}, Revision: "1", Prefix: tool.ServerPrefix("lab"),
		Transport: transport, URL: h.URL + "/mcp",
	}
}

func run(ctx context.Context, session *mcp.Session, name, arguments string) tool.Result {
	return tool.Executor{}.Execute(ctx, session.Tools(), tool.Invocation{ID: "call_1", Name: name, Arguments: json.RawMessage(arguments)})
}

func lab(tools ...func(*sdk.Server)) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "lab", Version: "1"}, nil)
	for _, add := range tools {
		add(server)
	}
	return server
}

// addTool adds a tool without parameters.
func addTool(offered sdk.Tool, handler sdk.ToolHandler) func(*sdk.Server) {
	if offered.InputSchema == nil {
		offered.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	return func(server *sdk.Server) { server.AddTool(&offered, handler) }
}

func answer(content ...sdk.Content) sdk.ToolHandler {
	return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: content}, nil
	}
}

func text(s string) sdk.Content { return &sdk.TextContent{Text: s} }
