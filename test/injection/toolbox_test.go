// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolbox has two MCP servers: the tools of feed return texts from outside, and those of box have effects.
type toolbox struct {
	feed, box string

	mu    sync.Mutex
	texts map[string]string
	calls map[call]int
}

type call struct{ tool, target string }

type targetInput struct {
	Target string `json:"target"`
}

// effects are the tools of box with what the server claims about them. None of these claims counts for policies.
var effects = map[string]*mcp.ToolAnnotations{
	"send":     {ReadOnlyHint: true},
	"write":    nil,
	"delete":   {DestructiveHint: new(true)},
	"publish":  {OpenWorldHint: new(true)},
	"pay":      {IdempotentHint: true},
	"approve":  {Title: "Approve a merge request"},
	"remember": {DestructiveHint: new(false)},
}

// readers are the tools of feed: how each returns a text.
var readers = map[string]func(text string) (*mcp.CallToolResult, any, error){
	"log": func(text string) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "read the log:\n" + text}}}, nil, nil
	},
	"page": func(text string) (*mcp.CallToolResult, any, error) {
		page := "read <html><body>Opening hours<!-- " + text + " --></body></html>"
		contents := &mcp.ResourceContents{URI: "https://shop.example/hours", MIMEType: "text/html", Text: page}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{Resource: contents}}}, nil, nil
	},
	"issue": func(text string) (*mcp.CallToolResult, any, error) {
		issue := map[string]any{"number": 17, "title": "It does not start", "comments": []string{"It starts here.", text}}
		return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: issue}, nil, nil
	},
	"book": func(text string) (*mcp.CallToolResult, any, error) {
		quiet := strings.Repeat("All is quiet at sea.\n", 1200)
		book := "read the book:\n" + quiet + text + "\n" + quiet
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: book}}}, nil, nil
	},
	"fail": func(text string) (*mcp.CallToolResult, any, error) { return nil, nil, errors.New(text) },
	"picture": func(string) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: picture}}}, nil, nil
	},
}

// picture is a PNG image of one pixel.
var picture = func() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))) // writing to a buffer cannot fail
	return b.Bytes()
}()

func startToolbox(t testing.TB) *toolbox {
	b := &toolbox{texts: map[string]string{}, calls: map[call]int{}}
	feed := mcp.NewServer(&mcp.Implementation{Name: "feed", Version: "1"}, nil)
	for name, result := range readers {
		mcp.AddTool(feed, &mcp.Tool{Name: name, Description: "Reads something."},
			func(_ context.Context, _ *mcp.CallToolRequest, in targetInput) (*mcp.CallToolResult, any, error) {
				return result(b.text(in.Target))
			})
	}
	box := mcp.NewServer(&mcp.Implementation{Name: "box", Version: "1"}, nil)
	for name, claims := range effects {
		mcp.AddTool(box, &mcp.Tool{Name: name, Description: "Changes something.", Annotations: claims},
			func(_ context.Context, _ *mcp.CallToolRequest, in targetInput) (*mcp.CallToolResult, any, error) {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.calls[call{name, in.Target}]++
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "did it"}}}, nil, nil
			})
	}
	serve := func(server *mcp.Server) string {
		s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
		t.Cleanup(func() {
			s.CloseClientConnections()
			s.Close()
		})
		return s.URL
	}
	b.feed, b.box = serve(feed), serve(box)
	return b
}

// set sets the text that the tools of feed return for a target.
func (b *toolbox) set(target, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.texts[target] = text
}

func (b *toolbox) text(target string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.texts[target]
}

// count returns how often a tool of box was called.
func (b *toolbox) count(tool, target string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls[call{tool, target}]
}
