// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"bufio"
	"context"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// npmServers is the directory where make mcp-servers installs third-party servers.
const npmServers = "../../../hack/mcp-servers"

// npmCommand returns a command that runs an npm package's server with node. If the package is missing, it skips the
// test, or fails it in CI.
func npmCommand(t *testing.T, name string, arguments ...string) *exec.Cmd {
	t.Helper()
	script := filepath.Join(npmServers, "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(script)
	}
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("%s is needed in CI: install node and run make mcp-servers: %v", name, err)
	}
	if err != nil {
		t.Skipf("%s is missing: install node and run make mcp-servers: %v", name, err)
	}
	preload, err := filepath.Abs(filepath.Join(npmServers, "loopback.cjs"))
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), node, append([]string{"--require", preload, script}, arguments...)...)
}

// startEverything runs server-everything and returns its address.
func startEverything(t *testing.T, transport string) string {
	t.Helper()
	command := npmCommand(t, "server-everything", transport)
	command.Env = append(os.Environ(), "PORT=0")
	// The server exits when this pipe is closed, even if the test is killed.
	if _, err := command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // it may have ended with the test's context
		_ = command.Wait()
	})
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "loopback: "); ok {
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return address
		}
	}
	t.Fatalf("server-everything ended before it listened: %v", lines.Err())
	return ""
}

// startFilesystem runs server-filesystem, which uses stdio, on a directory and returns the address of a bridge to it.
func startFilesystem(t *testing.T, directory string) string {
	t.Helper()
	return startBridge(t, npmCommand(t, "server-filesystem", directory))
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
