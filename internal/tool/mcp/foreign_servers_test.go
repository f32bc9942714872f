// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"image/png"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/test/patience"
)

func foreign(name string, transport mcp.Transport, url string) mcp.Server {
	return mcp.Server{
		Key: mcp.Key{Namespace: "team-a", Server: name}, Revision: "1", Prefix: tool.ServerPrefix(name),
		Transport: transport, URL: url, Timeout: 30 * time.Second,
	}
}

func checkReadOnly(t *testing.T, session *mcp.Session, name string, want bool) {
	t.Helper()
	entry, ok := session.Tools().Lookup(name)
	if !ok {
		t.Errorf("no tool %s in %v", name, session.Tools().Names())
		return
	}
	if entry.Spec().ReadOnly != want {
		t.Errorf("%s: read-only %v, want %v", name, entry.Spec().ReadOnly, want)
	}
}

func TestServerEverything(t *testing.T) {
	for command, c := range map[string]struct {
		transport mcp.Transport
		path      string
	}{
		"streamableHttp": {mcp.StreamableHTTP, "/mcp"},
		"sse":            {mcp.SSE, "/sse"},
	} {
		t.Run(command, func(t *testing.T) {
			address := startEverything(t, command)
			session := makeClient(t, mcp.Options{}).connect(t, foreign("every", c.transport, address+c.path))

			t.Run("list", func(t *testing.T) {
				if n := len(session.Status().Tools); n < 10 {
					t.Errorf("%d tools: %s", n, session.Status().Message)
				}
				checkReadOnly(t, session, "every__echo", true)
				checkReadOnly(t, session, "every__toggle-simulated-logging", false)
			})
			t.Run("call", func(t *testing.T) {
				result := run(t.Context(), session, "every__get-sum", `{"a": 2, "b": 40}`)
				if result.Failure != tool.NoFailure || !strings.Contains(result.Text, "42") {
					t.Errorf("got %+v", result)
				}
			})
			t.Run("invalid arguments are not sent", func(t *testing.T) {
				result := run(t.Context(), session, "every__get-sum", `{"a": "two", "b": 40}`)
				if result.Failure != tool.InvalidArguments || !strings.Contains(result.Text, "/a: got string, want number") {
					t.Errorf("got %+v", result)
				}
			})
			t.Run("error", func(t *testing.T) {
				result := run(t.Context(), session, "every__get-resource-reference", `{"resourceType": "Text", "resourceId": -1}`)
				if result.Failure != tool.Failed || result.OutcomeUnknown || !strings.Contains(result.Text, "positive integer") {
					t.Errorf("got %+v", result)
				}
			})
			t.Run("image", func(t *testing.T) {
				result := run(t.Context(), session, "every__get-tiny-image", `{}`)
				if len(result.Output.Images) != 1 || result.Output.Images[0].MIMEType != "image/png" {
					t.Fatalf("got %+v", result)
				}
				if size, err := png.DecodeConfig(bytes.NewReader(result.Output.Images[0].Data)); err != nil || size.Width != 20 {
					t.Errorf("the image has the size %+v, %v", size, err)
				}
			})
			t.Run("structured content", func(t *testing.T) {
				result := run(t.Context(), session, "every__get-structured-content", `{"location": "Chicago"}`)
				var weather struct{ Humidity int }
				if err := json.Unmarshal(result.Output.Structured, &weather); err != nil || weather.Humidity != 82 {
					t.Errorf("got %s, %v", result.Output.Structured, err)
				}
			})
			t.Run("embedded resource", func(t *testing.T) {
				result := run(t.Context(), session, "every__get-resource-reference", `{"resourceType": "Text", "resourceId": 3}`)
				if !strings.Contains(result.Text, "[resource demo://resource/dynamic/text/3]\nResource 3:") {
					t.Errorf("got %q", result.Text)
				}
			})
			t.Run("cancel", func(t *testing.T) {
				const slow = "trigger-long-running-operation"
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				cancelOnCall := makeClient(t, mcp.Options{HTTP: onRequest{slow, cancel}}).connect(t, foreign("every", c.transport, address+c.path))
				result := tool.Executor{}.Execute(ctx, cancelOnCall.Tools(), tool.Invocation{
					Name: "every__" + slow, Arguments: []byte(`{"duration": 3600, "steps": 72000}`),
				})
				if result.Failure != tool.Cancelled {
					t.Errorf("got %+v", result)
				}
				if after := run(t.Context(), cancelOnCall, "every__echo", `{"message": "still there"}`); !strings.Contains(after.Text, "still there") {
					t.Errorf("after a cancelled call: %q", after.Text)
				}
			})
		})
	}
}

// TestServerEverythingWithoutSampling: the conditional tools of server-everything appear after initialization, with
// tools/list_changed. Agents answer questions and offer no sampling, so the tools for elicitation are listed and the
// tools for sampling are not.
func TestServerEverythingWithoutSampling(t *testing.T) {
	c := makeClient(t, mcp.Options{})
	session := c.connect(t, foreign("every", mcp.StreamableHTTP, startEverything(t, "streamableHttp")+"/mcp"))
	for {
		if _, ok := session.Tools().Lookup("every__trigger-elicitation-request"); ok {
			break
		}
		select {
		case <-c.changed:
		case <-time.After(patience.Limit()):
			t.Fatalf("the server does not list its elicitation tool: %v", session.Tools().Names())
		}
	}
	for _, name := range session.Tools().Names() {
		if strings.Contains(name, "sampling") || strings.Contains(name, "roots") {
			t.Errorf("the server offers %s", name)
		}
	}
}

// TestServerEverythingTaskTool: its research tool also appears after initialization and declares that it
// can only run as an MCP task.
func TestServerEverythingTaskTool(t *testing.T) {
	c := makeClient(t, mcp.Options{})
	session := c.connect(t, foreign("every", mcp.StreamableHTTP, startEverything(t, "streamableHttp")+"/mcp"))
	for !strings.Contains(session.Status().Message, "simulate-research-query: it can only run as an MCP task") {
		select {
		case <-c.changed:
		case <-time.After(patience.Limit()):
			t.Fatalf("the status message is %q", session.Status().Message)
		}
	}
	if _, ok := session.Tools().Lookup("every__simulate-research-query"); ok {
		t.Error("the tool is offered")
	}
}

func TestServerFilesystem(t *testing.T) {
	directory, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(directory, "notes.txt"), []byte("buy milk"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := foreign("files", mcp.StreamableHTTP, startFilesystem(t, directory))
	session := makeClient(t, mcp.Options{}).connect(t, config)
	call := func(name string, arguments map[string]any) tool.Result {
		encoded, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		return run(t.Context(), session, name, string(encoded))
	}

	t.Run("list", func(t *testing.T) {
		checkReadOnly(t, session, "files__read_text_file", true)
		checkReadOnly(t, session, "files__write_file", false)
	})
	t.Run("call", func(t *testing.T) {
		written := call("files__write_file", map[string]any{"path": filepath.Join(directory, "new.txt"), "content": "hello"})
		if written.Failure != tool.NoFailure {
			t.Fatalf("got %+v", written)
		}
		read := call("files__read_text_file", map[string]any{"path": filepath.Join(directory, "notes.txt")})
		if read.Text != "buy milk" {
			t.Errorf("got %+v", read)
		}
		content, err := os.ReadFile(filepath.Join(directory, "new.txt"))
		if err != nil || string(content) != "hello" {
			t.Errorf("the file holds %q, %v", content, err)
		}
	})
	t.Run("error", func(t *testing.T) {
		result := call("files__read_text_file", map[string]any{"path": filepath.Join(directory, "..", "elsewhere")})
		if result.Failure != tool.Failed || !strings.Contains(strings.ToLower(result.Text), "denied") {
			t.Errorf("got %+v", result)
		}
	})
	t.Run("invalid arguments are not sent", func(t *testing.T) {
		result := call("files__write_file", map[string]any{"path": 7})
		if result.Failure != tool.InvalidArguments {
			t.Errorf("got %+v", result)
		}
	})
}

// onRequest is a transport that calls a function when a request with a given text has been sent.
type onRequest struct {
	text string
	sent func()
}

func (o onRequest) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		trace := &httptrace.ClientTrace{}
		if strings.Contains(string(body), o.text) {
			trace.WroteRequest = func(httptrace.WroteRequestInfo) { o.sent() }
		}
		r = r.Clone(httptrace.WithClientTrace(r.Context(), trace))
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return http.DefaultTransport.RoundTrip(r)
}
