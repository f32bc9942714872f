// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"context"
	"net/http/httptest"
	"os/exec"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/test/npm"
)

// npmServer returns a third-party server that make mcp-servers installs.
func npmServer(name string, arguments ...string) npm.Program {
	return npm.Program{Dir: "mcp-servers", Script: "node_modules/@modelcontextprotocol/" + name + "/dist/index.js", Args: arguments}
}

// startEverything runs server-everything and returns its address.
func startEverything(t *testing.T, transport string) string {
	t.Helper()
	server := npmServer("server-everything", transport)
	server.Env = []string{"PORT=0"}
	return server.Serve(t).URL
}

// startFilesystem runs server-filesystem, which uses stdio, on a directory and returns the address of a bridge to it.
func startFilesystem(t *testing.T, directory string) string {
	t.Helper()
	return startBridge(t, npmServer("server-filesystem", directory).Command(t.Context(), t))
}

// startBridge serves a stdio MCP server over Streamable HTTP. It forwards the messages of one session unchanged.
func startBridge(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	behind, err := (&sdk.CommandTransport{Command: command}).Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	front := &sdk.StreamableServerTransport{SessionID: "bridge"}
	before, err := front.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	go pass(ctx, before, behind)
	go pass(ctx, behind, before)
	server := httptest.NewServer(front)
	t.Cleanup(func() {
		cancel()
		server.CloseClientConnections()
		server.Close()
		_ = behind.Close() // the command may have ended with the test's context
	})
	return server.URL
}

func pass(ctx context.Context, from, to sdk.Connection) {
	for {
		message, err := from.Read(ctx)
		if err != nil {
			return
		}
		if err := to.Write(ctx, message); err != nil {
			return
		}
	}
}
