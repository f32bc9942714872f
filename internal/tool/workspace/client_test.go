// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool/workspace"
	"github.com/nestor-dev/nestor/internal/tool/workspace/shell"
)

// TestMain lets the test binary act as the supervisor of its commands.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == shell.SupervisorArgument {
		os.Exit(shell.Supervise(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

const token = "0123456789abcdef0123456789abcdef"

// client is the official SDK's client, connected to a workspace over HTTP.
type client struct {
	t       *testing.T
	session *mcp.ClientSession
	root    string
	url     string
}

// serve starts a workspace on a directory that holds the given files.
func serve(t *testing.T, files map[string]string, change ...func(*workspace.Options)) *client {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		put(t, filepath.Join(root, name), content)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	options := workspace.Options{
		Root:    root,
		Token:   token,
		Version: "test",
		Shell: &shell.Runner{
			Program: program, Env: shell.Environment(home, nil), Writable: []string{root, home}, HeadBytes: 8 << 10, TailBytes: 8 << 10,
		},
	}
	for _, c := range change {
		c(&options)
	}
	w, err := workspace.New(options)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(w.Handler())
	c := &client{t: t, root: root, url: server.URL}
	c.session = c.connect(token)
	t.Cleanup(func() {
		_ = c.session.Close()
		server.Close()
		w.Close()
	})
	return c
}

func (c *client) connect(token string) *mcp.ClientSession {
	c.t.Helper()
	session, err := c.tryConnect(token)
	if err != nil {
		c.t.Fatalf("connect: %v", err)
	}
	return session
}

func (c *client) tryConnect(token string) (*mcp.ClientSession, error) {
	transport := &mcp.StreamableClientTransport{Endpoint: c.url, HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1}
	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(c.t.Context(), transport, nil)
}

// bearer adds a token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

type args map[string]any

func (c *client) call(tool string, a args) *mcp.CallToolResult {
	c.t.Helper()
	result, err := c.try(c.t.Context(), tool, a)
	if err != nil {
		c.t.Fatalf("%s %v: %v", tool, a, err)
	}
	return result
}

func (c *client) try(ctx context.Context, tool string, a args) (*mcp.CallToolResult, error) {
	return c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: a})
}

// ok calls a tool that must succeed and returns its text.
func (c *client) ok(tool string, a args) string {
	c.t.Helper()
	result := c.call(tool, a)
	if result.IsError {
		c.t.Fatalf("%s %v failed: %s", tool, a, resultText(result))
	}
	return resultText(result)
}

// fails calls a tool that must fail with a message that contains all words.
func (c *client) fails(tool string, a args, words ...string) {
	c.t.Helper()
	result := c.call(tool, a)
	if !result.IsError {
		c.t.Fatalf("%s %v succeeded: %s", tool, a, resultText(result))
	}
	contains(c.t, resultText(result), words...)
}

func resultText(result *mcp.CallToolResult) string {
	var b strings.Builder
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

func contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q is not in:\n%s", word, text)
		}
	}
}

func put(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
