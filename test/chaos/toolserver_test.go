// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

type execution struct {
	Tool, Key, Job, Step string
}

// toolServer is a tool server that logs its executions, and fails on request.
type toolServer struct {
	*httptest.Server

	mu     sync.Mutex
	log    []execution
	faults []string
}

// The faults of a tool call.
const (
	toolHangs     = "hang"       // it takes effect, but never answers
	toolFails     = "fail"       // it takes no effect, and returns an error
	toolCutBefore = "cut before" // the connection is lost before it takes effect
	toolCutAfter  = "cut after"  // the connection is lost after it took effect
)

var toolFaults = []string{toolHangs, toolFails, toolCutBefore, toolCutAfter}

func startToolServer(t *testing.T) *toolServer {
	w := &toolServer{}
	server := sdk.NewServer(&sdk.Implementation{Name: "chaos", Version: "1"}, nil)
	for name, hints := range map[string]sdk.ToolAnnotations{
		stepRead: {ReadOnlyHint: true}, stepPut: {IdempotentHint: true}, stepWrite: {},
	} {
		server.AddTool(&sdk.Tool{
			Name: name, Description: "Does a step of a job.", Annotations: &hints,
			InputSchema: json.RawMessage(`{"type":"object","properties":{"job":{"type":"string"},"step":{"type":"string"}},"required":["job","step"]}`),
		}, w.run)
	}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.serve(rw, r, handler) }))
	t.Cleanup(func() {
		w.CloseClientConnections()
		w.Close()
	})
	return w
}

// serve forwards a request, unless the connection is to be cut.
func (w *toolServer) serve(rw http.ResponseWriter, r *http.Request, next http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !bytes.Contains(body, []byte(`"tools/call"`)) {
		next.ServeHTTP(rw, r)
		return
	}
	switch {
	case w.takeFault(toolCutBefore):
		panic(http.ErrAbortHandler)
	case w.takeFault(toolCutAfter):
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	next.ServeHTTP(rw, r)
}

func (w *toolServer) run(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	var in struct{ Job, Step string }
	if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
		return nil, err
	}
	if w.takeFault(toolFails) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "The workshop is closed."}}}, nil
	}
	key, _ := r.Params.Meta[mcp.IdempotencyKeyMeta].(string)
	w.mu.Lock()
	w.log = append(w.log, execution{Tool: r.Params.Name, Key: key, Job: in.Job, Step: in.Step})
	w.mu.Unlock()
	if w.takeFault(toolHangs) {
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
		}
	}
	text := fmt.Sprintf("%s of step %s of job %s has run.", r.Params.Name, in.Step, in.Job)
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
}

// fail makes the next calls fail in this way.
func (w *toolServer) fail(kind string, times int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for range times {
		w.faults = append(w.faults, kind)
	}
}

func (w *toolServer) takeFault(kind string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.faults, kind)
	if i < 0 {
		return false
	}
	w.faults = slices.Delete(w.faults, i, i+1)
	return true
}

func (w *toolServer) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = nil
}

func (w *toolServer) executions() []execution {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}
