// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

func TestIdempotencyKeyIsSent(t *testing.T) {
	var meta atomic.Value
	server := lab(addTool(sdk.Tool{Name: "pay"}, func(_ context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		meta.Store(request.Params.Meta[mcp.IdempotencyKeyMeta])
		return &sdk.CallToolResult{}, nil
	}))
	_, session := connect(t, server)
	tool.Executor{}.Execute(t.Context(), session.Tools(), tool.Invocation{Name: "lab__pay", IdempotencyKey: "agent-7/3/0"})
	if got := meta.Load(); got != "agent-7/3/0" {
		t.Errorf("the server sees the key %v", got)
	}
}

func TestCancelReachesTheServer(t *testing.T) {
	for name, meddle := range map[string]func(*host){
		"current server": func(*host) {},
		"legacy server":  func(h *host) { h.setIntercept(legacy) },
	} {
		t.Run(name, func(t *testing.T) {
			started, ended := make(chan struct{}), make(chan struct{})
			reads := &sdk.ToolAnnotations{ReadOnlyHint: true}
			server := lab(addTool(sdk.Tool{Name: "dig", Annotations: reads}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				close(started)
				<-ctx.Done()
				close(ended)
				return nil, ctx.Err()
			}))
			h := makeHost(t, mcp.StreamableHTTP, server)
			meddle(h)
			session := makeClient(t, mcp.Options{}).connect(t, describe(h, mcp.StreamableHTTP))
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-started
				cancel()
			}()
			result := run(ctx, session, "lab__dig", `{}`)
			if result.Failure != tool.Cancelled {
				t.Errorf("got %+v", result)
			}
			<-ended
			if status := session.Status(); !status.Ready {
				t.Errorf("a cancelled call cost the connection: %+v", status)
			}
		})
	}
}

// breakAnswer lets the server handle the call and then breaks the connection.
func breakAnswer(times int32) func(http.ResponseWriter, *http.Request, string, http.Handler) {
	var broken atomic.Int32
	return func(w http.ResponseWriter, r *http.Request, method string, next http.Handler) {
		if method != "tools/call" || broken.Add(1) > times {
			next.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

// TestUnresumableAnswerIsUnknown: a server that accepted a call and then lost the session has run it, so its
// refusal to resume the answer proves nothing.
func TestUnresumableAnswerIsUnknown(t *testing.T) {
	var runs atomic.Int32
	h, session := connect(t, lab(addTool(sdk.Tool{Name: "act"}, count(&runs))))
	h.setIntercept(func(w http.ResponseWriter, r *http.Request, method string, next http.Handler) {
		switch {
		case method == "tools/call":
			next.ServeHTTP(httptest.NewRecorder(), r)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("id: 7\nretry: 1\ndata:\n\n"))
		case r.Header.Get("Last-Event-ID") != "":
			http.Error(w, "session not found", http.StatusNotFound)
		default:
			next.ServeHTTP(w, r)
		}
	})
	result := run(t.Context(), session, "lab__act", `{}`)
	if result.Failure != tool.Failed || !result.OutcomeUnknown || runs.Load() != 1 {
		t.Errorf("%d runs, got %+v", runs.Load(), result)
	}
}

func count(n *atomic.Int32) sdk.ToolHandler {
	return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		n.Add(1)
		return &sdk.CallToolResult{Content: []sdk.Content{text("done")}}, nil
	}
}

func TestLostCallRepeatsIfSafe(t *testing.T) {
	for _, c := range []struct {
		name    string
		hints   sdk.ToolAnnotations
		breaks  int32
		runs    int32
		failure tool.Failure
		unknown bool
	}{
		{"a tool that writes", sdk.ToolAnnotations{}, 1, 1, tool.Failed, true},
		{"a tool that reads", sdk.ToolAnnotations{ReadOnlyHint: true}, 1, 2, tool.NoFailure, false},
		{"an idempotent tool", sdk.ToolAnnotations{IdempotentHint: true}, 1, 2, tool.NoFailure, false},
		{"no third time", sdk.ToolAnnotations{ReadOnlyHint: true}, 9, 2, tool.Failed, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var runs atomic.Int32
			h, session := connect(t, lab(addTool(sdk.Tool{Name: "act", Annotations: &c.hints}, count(&runs))))
			h.setIntercept(breakAnswer(c.breaks))
			result := run(t.Context(), session, "lab__act", `{}`)
			if result.Failure != c.failure || result.OutcomeUnknown != c.unknown {
				t.Errorf("failure %q, unknown %v: %s", result.Failure, result.OutcomeUnknown, result.Text)
			}
			if runs.Load() != c.runs {
				t.Errorf("the tool ran %d times, want %d", runs.Load(), c.runs)
			}
			if c.unknown && !strings.Contains(result.Text, "check before you call it again") {
				t.Errorf("the model is not warned: %s", result.Text)
			}
		})
	}
}

func TestRejectedCallsGiveTheReason(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusUnauthorized:    "refuses the credentials of this namespace",
		http.StatusForbidden:       "refuses the credentials of this namespace",
		http.StatusTooManyRequests: "is rate limited",
	} {
		var runs atomic.Int32
		h, session := connect(t, lab(addTool(sdk.Tool{Name: "act"}, count(&runs))))
		h.setIntercept(func(w http.ResponseWriter, r *http.Request, method string, next http.Handler) {
			if method == "tools/call" {
				http.Error(w, "no", status)
				return
			}
			next.ServeHTTP(w, r)
		})
		result := run(t.Context(), session, "lab__act", `{}`)
		if !strings.Contains(result.Text, want) || result.OutcomeUnknown || runs.Load() != 0 {
			t.Errorf("%d: %d runs, unknown %v, %q", status, runs.Load(), result.OutcomeUnknown, result.Text)
		}
	}
}

func TestAnswersAreBounded(t *testing.T) {
	h, session := connect(t, lab(addTool(sdk.Tool{Name: "flood"}, answer())))
	h.setIntercept(func(w http.ResponseWriter, r *http.Request, method string, next http.Handler) {
		if method != "tools/call" {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		block := []byte(strings.Repeat(" ", 1<<20))
		for {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	result := run(t.Context(), session, "lab__flood", `{}`)
	if result.Failure != tool.Failed || !strings.Contains(result.Text, "lost during the call") {
		t.Errorf("got %s: %q", result.Failure, result.Text)
	}
}
