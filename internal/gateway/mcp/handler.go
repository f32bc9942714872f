// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/version"
)

const (
	doorName = "mcp"
	// sessionTimeout ends the sessions of earlier revisions that are not used.
	sessionTimeout = 30 * time.Minute
	// maxSessions bounds the sessions of earlier revisions. Only clients that take forms have one.
	maxSessions = 1000
	// dispatcher is the only tool that is registered with the SDK. It performs the calls of all tools.
	dispatcher = "dispatch"

	headerSession  = "Mcp-Session-Id"
	headerProtocol = "Mcp-Protocol-Version"
	methodList     = "tools/list"
	methodCall     = "tools/call"
)

// instructions are shown to the model of a client.
const instructions = "Runs agents of Nestor in Kubernetes. Each run is an AgentTask that outlives this connection. run_agent returns the result of an agent; " +
	"start_task and get_task are for work that takes longer than a call may. Answers to questions and decisions about tool calls come from a person: ask one, do not make them up."

// undeclared are capabilities that the server does not have. The SDK would return empty lists for some of their
// methods.
var undeclared = []string{"completion", "logging", "prompts", "resources"}

type (
	visitKey struct{}
	toolKey  struct{}
)

// handler serves MCP to authenticated callers.
type handler struct {
	checker tool.Checker
	// stateless serves revision 2026-07-28, and earlier clients that take no forms; stateful serves those that do,
	// because the answer to a form arrives in another request.
	stateless, stateful http.Handler
	sessions            *sdk.Server
}

func newHandler(logger *slog.Logger) *handler {
	h := &handler{}
	h.sessions = h.newServer()
	single := h.newServer()
	// The listener is not for browsers on the same machine: every request has a bearer token, and CORS is off.
	options := sdk.StreamableHTTPOptions{Logger: logger, DisableLocalhostProtection: true, PropagateRequestCancellation: true}
	options.Stateless = true
	h.stateless = authenticated(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return single }, &options))
	options.Stateless, options.SessionTimeout = false, sessionTimeout
	h.stateful = authenticated(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return h.sessions }, &options))
	return h
}

// authenticated hands the caller of each request to the SDK, which binds a session to its user.
func authenticated(next http.Handler) http.Handler {
	verify := func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		v, ok := ctx.Value(visitKey{}).(*visit)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: v.user, Extra: map[string]any{doorName: v}}, nil
	}
	return auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
}

func (h *handler) newServer() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "nestor", Title: "Nestor", Version: version.String()}, &sdk.ServerOptions{
		Instructions: instructions, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	server.AddTool(&sdk.Tool{Name: dispatcher, InputSchema: json.RawMessage(`{"type":"object"}`)}, h.dispatch)
	server.AddReceivingMiddleware(h.receive)
	return server
}

// receive lists the tools, which depend on the caller. It passes calls to the dispatcher, so that the SDK treats their
// results as those of a tool.
func (h *handler) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		switch method {
		case methodList:
			result := &sdk.ListToolsResult{Tools: visitOf(req).tools(ctx)}
			result.CacheScope = "private"
			return result, nil
		case methodCall:
			original, ok := req.(*sdk.CallToolRequest)
			if !ok {
				break
			}
			params := *original.Params
			params.Name = dispatcher
			ctx = context.WithValue(ctx, toolKey{}, original.Params.Name)
			return next(ctx, method, &sdk.CallToolRequest{Session: original.Session, Params: &params, Extra: original.Extra})
		}
		if capability, _, _ := strings.Cut(method, "/"); slices.Contains(undeclared, capability) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %q", method)}
		}
		return next(ctx, method, req)
	}
}

func visitOf(req sdk.Request) *visit {
	return req.GetExtra().TokenInfo.Extra[doorName].(*visit)
}

func (h *handler) dispatch(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	name, _ := ctx.Value(toolKey{}).(string)
	c := &call{visit: visitOf(req), request: req, checker: &h.checker}
	return c.perform(ctx, name)
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request, v *visit) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r = r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
	r.Body = io.NopCloser(bytes.NewReader(body))
	wants := wantsSession(r, body)
	switch {
	case r.Header.Get(headerSession) != "":
		h.stateful.ServeHTTP(w, r)
	case wants && h.countSessions() >= maxSessions:
		return apierrors.NewTooManyRequests("There are too many sessions: use revision "+revisionStateless+", which has none, or try again later.", 60)
	case wants:
		h.stateful.ServeHTTP(w, r)
	default:
		h.stateless.ServeHTTP(w, r)
	}
	return nil
}

func (h *handler) countSessions() (n int) {
	for range h.sessions.Sessions() {
		n++
	}
	return n
}

// wantsSession reports whether a request begins a session of a client that takes forms.
func wantsSession(r *http.Request, body []byte) bool {
	if r.Method != http.MethodPost || r.Header.Get(headerProtocol) >= revisionStateless {
		return false
	}
	var message struct {
		Method string
		Params struct {
			Capabilities struct{ Elicitation *json.RawMessage }
		}
	}
	err := json.Unmarshal(body, &message)
	return err == nil && message.Method == "initialize" && message.Params.Capabilities.Elicitation != nil
}
