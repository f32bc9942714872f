// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command toolserver is the MCP server of the benchmark: one read-only tool that answers at once, over streamable
// HTTP. It prints its URL.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type lookup struct {
	Item string `json:"item" jsonschema:"what to look up"`
}

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "toolserver:", err)
		os.Exit(1)
	}
}

func serve() error {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	tool := &mcp.Tool{Name: "lookup", Description: "Looks up an item.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	mcp.AddTool(server, tool, func(_ context.Context, _ *mcp.CallToolRequest, in lookup) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Item + " is in stock."}}}, nil, nil
	})
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	return (&http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}).Serve(listener)
}
