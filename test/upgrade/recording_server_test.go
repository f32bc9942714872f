// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

type recordingServer struct {
	*httptest.Server

	mu  sync.Mutex
	did []string
}

func startRecordingServer(t *testing.T) *recordingServer {
	t.Helper()
	d := &recordingServer{}
	server := sdk.NewServer(&sdk.Implementation{Name: "desk", Version: "1"}, nil)
	for name, hints := range map[string]sdk.ToolAnnotations{"look": {ReadOnlyHint: true}, "sign": {}} {
		server.AddTool(&sdk.Tool{
			Name: name, Description: "Does something with a paper.", Annotations: &hints,
			InputSchema: json.RawMessage(`{"type":"object","properties":{"paper":{"type":"string"}},"required":["paper"]}`),
		}, d.run)
	}
	d.Server = httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(func() {
		d.CloseClientConnections()
		d.Close()
	})
	return d
}

// run implements every tool. Signing the paper "hang" takes effect but is never answered.
func (d *recordingServer) run(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	var in struct{ Paper string }
	if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.did = append(d.did, r.Params.Name+" "+in.Paper)
	d.mu.Unlock()
	if in.Paper == "hang" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	past := map[string]string{"look": "looked at", "sign": "signed"}[r.Params.Name]
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("%s %s", past, in.Paper)}}}, nil
}

func (d *recordingServer) done() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(slices.Values(d.did))
}
