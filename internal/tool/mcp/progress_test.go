// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

func TestProgressOfACall(t *testing.T) {
	var seenFirst chan struct{} // closed when the client has the first notification
	works := func(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		token := request.Params.GetProgressToken()
		for _, p := range []*sdk.ProgressNotificationParams{
			{ProgressToken: token, Progress: 1, Total: 3, Message: "first\x1b[31m " + strings.Repeat("x", 10_000)},
			{ProgressToken: "another call's", Progress: 2, Total: 3},
			{ProgressToken: token, Progress: 3, Total: 3},
		} {
			if err := request.Session.NotifyProgress(ctx, p); err != nil {
				return nil, err
			}
		}
		<-seenFirst
		return &sdk.CallToolResult{Content: []sdk.Content{text("done")}}, nil
	}
	sessions(t, func() *sdk.Server { return lab(addTool(sdk.Tool{Name: "works"}, works)) }, func(t *testing.T, session *mcp.Session) {
		var mu sync.Mutex
		var seen []tool.Progress
		seenFirst = make(chan struct{})
		call := tool.Invocation{ID: "c", Name: "lab__works", Arguments: json.RawMessage(`{}`), Progress: func(p tool.Progress) {
			mu.Lock()
			defer mu.Unlock()
			if seen = append(seen, p); len(seen) == 1 {
				close(seenFirst)
			}
		}}
		if result := (tool.Executor{}).Execute(t.Context(), session.Tools(), call); result.Text != "done" {
			t.Fatalf("the tool says %q", result.Text)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(seen) == 0 || !strings.HasPrefix(seen[0].String(), "1/3 first") || len(seen[0].Message) > 1000 || strings.ContainsRune(seen[0].Message, 0x1b) {
			t.Errorf("the progress is %v", seen)
		}
		if slices.ContainsFunc(seen, func(p tool.Progress) bool { return p.Done == 2 }) {
			t.Error("progress of another call was reported")
		}
	})
}

// Cancelling a call reaches the server, whatever its revision.
func TestCancelReachesServersOfEveryRevision(t *testing.T) {
	started, cancelled := make(chan struct{}, 1), make(chan struct{}, 1)
	waits := func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		started <- struct{}{}
		<-ctx.Done()
		cancelled <- struct{}{}
		return nil, ctx.Err()
	}
	sessions(t, func() *sdk.Server { return lab(addTool(sdk.Tool{Name: "waits"}, waits)) }, func(t *testing.T, session *mcp.Session) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan tool.Result, 1)
		go func() { done <- run(ctx, session, "lab__waits", `{}`) }()
		<-started
		cancel()
		if result := <-done; result.Failure != tool.Cancelled {
			t.Errorf("the call ended with %q", result.Failure)
		}
		<-cancelled
	})
}

func TestProgressText(t *testing.T) {
	for want, p := range map[string]tool.Progress{
		"3/10 reading": {Done: 3, Total: 10, Message: "reading"}, "25%": {Done: 25, Total: 100}, "50%": {Done: 0.5, Total: 1.0000001}, "7": {Done: 7}, "thinking": {Message: "thinking"}, "": {},
	} {
		if got := p.String(); got != want {
			t.Errorf("%+v is %q, want %q", p, got, want)
		}
	}
}
