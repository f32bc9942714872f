// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolbox is an MCP server with well-behaved and faulty tools.
type toolbox struct {
	*httptest.Server
	mu      sync.Mutex
	written []string
	gates   map[string]chan struct{}
	waiting map[string]bool
}

type (
	readInput struct {
		What string `json:"what"`
	}
	writeInput struct {
		Path string `json:"path"`
	}
	gateInput struct {
		Gate string `json:"gate"`
	}
	noInput struct{}
)

// picture is a PNG image of one pixel.
var picture = func() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))) // writing to a buffer cannot fail
	return b.Bytes()
}()

func startToolbox() *toolbox {
	b := &toolbox{gates: map[string]chan struct{}{}, waiting: map[string]bool{}}
	server := mcp.NewServer(&mcp.Implementation{Name: "toolbox", Version: "1"}, nil)
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(server, &mcp.Tool{Name: "look", Description: "Looks at something.", Annotations: readOnly},
		func(_ context.Context, _ *mcp.CallToolRequest, in readInput) (*mcp.CallToolResult, any, error) {
			return text("saw " + in.What), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "wait", Description: "Waits at a gate.", Annotations: readOnly},
		func(ctx context.Context, request *mcp.CallToolRequest, in gateInput) (*mcp.CallToolResult, any, error) {
			b.reportProgress(ctx, request)
			return text("went through " + in.Gate), nil, b.wait(ctx, in.Gate)
		})
	mcp.AddTool(server, &mcp.Tool{Name: "fail", Description: "Fails.", Annotations: readOnly},
		func(context.Context, *mcp.CallToolRequest, noInput) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("the disk is full")
		})
	mcp.AddTool(server, &mcp.Tool{Name: "flood", Description: "Says a lot.", Annotations: readOnly},
		func(context.Context, *mcp.CallToolRequest, noInput) (*mcp.CallToolResult, any, error) {
			return text(strings.Repeat("water ", 100_000)), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "picture", Description: "Returns an image.", Annotations: readOnly},
		func(context.Context, *mcp.CallToolRequest, noInput) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: picture}}}, nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "write", Description: "Writes a file."},
		func(_ context.Context, _ *mcp.CallToolRequest, in writeInput) (*mcp.CallToolResult, any, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.written = append(b.written, in.Path)
			return text("wrote " + in.Path), nil, nil
		})
	b.Server = httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	return b
}

// Close stops the server and releases waiting calls.
func (b *toolbox) Close() {
	b.CloseClientConnections()
	b.Server.Close()
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// reportProgress reports the progress of a call, if the client requests it.
func (b *toolbox) reportProgress(ctx context.Context, request *mcp.CallToolRequest) {
	if token := request.Params.GetProgressToken(); token != nil {
		_ = request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 3, Total: 10, Message: "at the gate"})
	}
}

func (b *toolbox) wait(ctx context.Context, name string) error {
	b.mu.Lock()
	gate := b.gate(name)
	b.waiting[name] = true
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.waiting, name)
	}()
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the gate was not opened: %w", ctx.Err())
	}
}

func (b *toolbox) gate(name string) chan struct{} {
	if b.gates[name] == nil {
		b.gates[name] = make(chan struct{})
	}
	return b.gates[name]
}

// open releases the calls that wait at a gate.
func (b *toolbox) open(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.gate(name))
}

func (b *toolbox) isWaitingAt(name string) func() bool {
	return func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.waiting[name]
	}
}

// writesBelow returns how often files of a directory were written.
func (b *toolbox) writesBelow(directory string) func() int {
	return func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		count := 0
		for _, p := range b.written {
			if strings.HasPrefix(p, directory+"/") {
				count++
			}
		}
		return count
	}
}

// writeCount returns how often a file was written.
func (b *toolbox) writeCount(path string) func() int {
	return func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		count := 0
		for _, p := range b.written {
			if p == path {
				count++
			}
		}
		return count
	}
}
