// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessionIdleTimeout is how long a session may be idle before it is dropped; the client then has to initialize again.
const sessionIdleTimeout = 30 * time.Minute

// Revision 2026-07-28 of MCP has no sessions. The SDK serves it only with a handler for servers without sessions.
const (
	revisionWithoutSessions = "2026-07-28"
	protocolHeader          = "Mcp-Protocol-Version"
	sessionHeader           = "Mcp-Session-Id"
)

// Handler serves MCP at every path except /healthz, /changes and /file.
func (w *Workspace) Handler() http.Handler {
	// Cancelling a call must reach its command: by notification in sessions, by the end of the request in protocol
	// versions without sessions.
	options := mcp.StreamableHTTPOptions{PropagateRequestCancellation: true, MaxRequestBodyBytes: requestBytes(w.limits.FileBytes)}
	server := func(*http.Request) *mcp.Server { return w.server }
	options.Stateless = true
	single := mcp.NewStreamableHTTPHandler(server, &options)
	options.Stateless, options.SessionTimeout = false, sessionIdleTimeout
	sessions := mcp.NewStreamableHTTPHandler(server, &options)
	transport := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get(protocolHeader) >= revisionWithoutSessions && r.Header.Get(sessionHeader) == "" {
			single.ServeHTTP(rw, r)
			return
		}
		sessions.ServeHTTP(rw, r)
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprintln(rw, "ok") })
	guarded := func(next http.Handler) http.Handler {
		return requireToken(w.token, http.NewCrossOriginProtection().Handler(next))
	}
	if w.changes != nil {
		mux.Handle("GET /changes", guarded(w.onceRestored(http.HandlerFunc(w.readChanges))))
		mux.Handle("GET /changes/archive", guarded(w.onceRestored(http.HandlerFunc(w.readArchive))))
		mux.Handle("PUT /changes/archive", guarded(http.HandlerFunc(w.restore)))
	}
	mux.Handle("GET /file", guarded(w.onceRestored(http.HandlerFunc(w.readFile))))
	mux.Handle("/", guarded(w.onceRestored(transport)))
	return mux
}

// requestBytes leaves room for JSON escapes, which can double the size of text.
func requestBytes(file int64) int64 { return 2*file + 1<<20 }

// onlyTools refuses methods of undeclared capabilities, some of which the SDK would answer with empty lists.
func onlyTools(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		switch capability, _, _ := strings.Cut(method, "/"); capability {
		case "completion", "logging", "prompts", "resources":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %q", method)}
		}
		return next(ctx, method, request)
	}
}
