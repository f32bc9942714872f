// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/outbound"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/test/patience"
)

// maliciousServer is a malicious MCP server with a minimal implementation of the protocol.
type maliciousServer struct {
	// list and call answer tools/list and tools/call; a nil list offers one tool "act".
	list, call func(w http.ResponseWriter, id, params json.RawMessage)
	// stream serves the GET stream.
	stream http.HandlerFunc
}

func (f maliciousServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && f.stream != nil {
		f.stream(w, r)
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil || len(m.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	switch {
	case m.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", "s")
		result(w, m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"foe","version":"1"}}`)
	case m.Method == "ping":
		result(w, m.ID, `{}`)
	case m.Method == "tools/list" && f.list != nil:
		f.list(w, m.ID, m.Params)
	case m.Method == "tools/list":
		result(w, m.ID, `{"tools":[{"name":"act","inputSchema":{"type":"object"}}]}`)
	case m.Method == "tools/call" && f.call != nil:
		f.call(w, m.ID, m.Params)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, m.ID)
	}
}

func result(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func (f maliciousServer) session(t *testing.T, change ...func(*mcp.Options)) *mcp.Session {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	options := mcp.Options{ConnectTimeout: time.Minute} // the machine may be busy
	for _, c := range change {
		c(&options)
	}
	c := makeClient(t, options)
	return c.Ensure(mcp.Server{Key: mcp.Key{Namespace: "team-a", Server: "foe"}, Revision: "1", Prefix: "foe__", Transport: mcp.StreamableHTTP, URL: server.URL})
}

func TestUnusableListsAreRejected(t *testing.T) {
	for name, tc := range map[string]struct {
		list func(w http.ResponseWriter, id, params json.RawMessage)
		says string
	}{
		"cursors without end": {func(w http.ResponseWriter, id, params json.RawMessage) {
			result(w, id, fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, time.Now().UnixNano()))
		}, "does not end after 64 pages"},
		"a cursor that repeats": {func(w http.ResponseWriter, id, _ json.RawMessage) {
			result(w, id, `{"tools":[],"nextCursor":"again"}`)
		}, "a cursor repeats"},
		"a cursor that grows": {func(w http.ResponseWriter, id, _ json.RawMessage) {
			result(w, id, `{"tools":[],"nextCursor":"`+strings.Repeat("c", 5000)+`"}`)
		}, "too long"},
		"a schema of 15 MiB": {func(w http.ResponseWriter, id, _ json.RawMessage) {
			result(w, id, `{"tools":[{"name":"act","inputSchema":{"type":"object","description":"`+strings.Repeat("x", 15<<20)+`"}}]}`)
		}, "larger than 4 MiB"},
		"a gzip bomb": {func(w http.ResponseWriter, id, _ json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			block := []byte(strings.Repeat(" ", 1<<20))
			for range 256 {
				if _, err := z.Write(block); err != nil {
					return
				}
			}
		}, "larger than 4 MiB"},
		"many large schemas": {func(w http.ResponseWriter, id, params json.RawMessage) {
			var p struct{ Cursor string }
			_ = json.Unmarshal(params, &p)
			var tools []string
			for i := range 20 {
				tools = append(tools, fmt.Sprintf(`{"name":"t%s%d","inputSchema":{"type":"object","description":"%s"}}`, p.Cursor, i, strings.Repeat("x", 60<<10)))
			}
			result(w, id, fmt.Sprintf(`{"tools":[%s],"nextCursor":"%sx"}`, strings.Join(tools, ","), p.Cursor))
		}, "have more than 2 MiB"},
		"an event of 15 MiB": {func(w http.ResponseWriter, id, _ json.RawMessage) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: "+strings.Repeat("x", 15<<20))
		}, ""},
		"an answer that is nested too deeply": {func(w http.ResponseWriter, id, _ json.RawMessage) {
			result(w, id, `{"tools":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+`}`)
		}, "not MCP"},
		"a page of another service": {func(w http.ResponseWriter, id, _ json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"AccessKeyId":"secret-word"}`)
		}, "not MCP"},
		"lines of another service": {func(w http.ResponseWriter, id, _ json.RawMessage) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "secret-word\n\n")
		}, ""},
		"an error with markup": {func(w http.ResponseWriter, id, _ json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"<b>no</b>\n\u001b[31m%s"}}`, id, strings.Repeat("secret-word ", 10000))
		}, ""},
		"headers without end": {func(w http.ResponseWriter, id, _ json.RawMessage) {
			for range 100 {
				w.Header().Add("X-Long", strings.Repeat("a", 1024))
			}
			result(w, id, `{"tools":[]}`)
		}, ""},
		"a list that never comes": {func(w http.ResponseWriter, _, _ json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			for range time.Tick(10 * time.Millisecond) {
				if _, err := w.Write([]byte(" ")); err != nil {
					return
				}
				w.(http.Flusher).Flush()
			}
		}, "does not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := maliciousServer{list: tc.list}.session(t, func(o *mcp.Options) {
				// On a busy machine a case with a reason of its own must not time out before that reason is found.
				if tc.says == "" || tc.says == "does not answer in time" {
					o.ConnectTimeout = 3 * time.Second
				}
			})
			status := session.WaitForStatus(t.Context())
			if status.Ready || !strings.Contains(status.Message, tc.says) {
				t.Errorf("status is %+v, want one that says %q", status, tc.says)
			}
			if n := len([]rune(status.Message)); n > 400 || strings.ContainsAny(status.Message, "\n\x1b") || strings.Contains(status.Message, "<b>") {
				t.Errorf("the message has unsafe characters: %q", status.Message)
			}
			if name != "an error with markup" && strings.Contains(status.Message, "secret-word") {
				t.Errorf("the message repeats the response of another service: %q", status.Message)
			}
		})
	}
}

func TestUnusableToolsAreLeftOut(t *testing.T) {
	session := maliciousServer{list: func(w http.ResponseWriter, id, _ json.RawMessage) {
		deep := strings.Repeat(`{"type":"object","properties":{"a":`, 100) + `{}` + strings.Repeat(`}}`, 100)
		result(w, id, `{"tools":[`+strings.Join([]string{
			`{"name":"good","inputSchema":{"type":"object"}}`,
			`{"name":"large","inputSchema":{"type":"object","description":"` + strings.Repeat("x", 65<<10) + `"}}`,
			`{"name":"deep","inputSchema":` + deep + `}`,
			`{"name":"hid\u202eden","inputSchema":{"type":"object"}}`,
			`{"name":"` + strings.Repeat("n", 200) + `","inputSchema":{"type":"object"}}`,
		}, ",")+`]}`)
	}}.session(t)
	status := session.WaitForStatus(t.Context())
	if !status.Ready || len(status.Tools) != 1 || len(status.LeftOut) != 4 {
		t.Fatalf("status is %+v", status)
	}
	for _, want := range []string{"large: its schema is larger than 64 KiB", "deep: ", "hidden: its name", "nested more than"} {
		if !strings.Contains(status.Message, want) {
			t.Errorf("the message does not say %q: %s", want, status.Message)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	reached := make(chan struct{}, 10)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }))
	defer other.Close()
	session := maliciousServer{list: func(w http.ResponseWriter, _, _ json.RawMessage) {
		w.Header().Set("Location", other.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}}.session(t)
	status := session.WaitForStatus(t.Context())
	if status.Reason != mcp.NotAllowed || !strings.Contains(status.Message, "redirects") || len(reached) > 0 {
		t.Errorf("status is %+v", status)
	}
}

func TestForbiddenAddressesAreRejected(t *testing.T) {
	session := maliciousServer{}.session(t, func(o *mcp.Options) { o.HTTP = outbound.New(outbound.Options{}) })
	status := session.WaitForStatus(t.Context())
	if status.Reason != mcp.NotAllowed || !strings.Contains(status.Message, "127.0.0.1: it is a loopback address") {
		t.Errorf("status is %+v", status)
	}
}

// TestStreamWithoutEndIsCut: a server that sends endless requests and reads no answers would fill the queue of
// answers.
func TestStreamWithoutEndIsCut(t *testing.T) {
	cut, padding := make(chan int, 10), strings.Repeat("x", 64<<10) // larger pings need less CPU for each MiB
	session := maliciousServer{stream: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		sent := 0
		for i := 0; r.Context().Err() == nil && sent < 1<<30; i++ {
			n, err := fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\",\"params\":{\"x\":\"%s\"}}\n\n", i, padding)
			if err != nil {
				break
			}
			sent += n
		}
		cut <- sent
	}}.session(t)
	session.WaitForStatus(t.Context())
	select {
	case sent := <-cut:
		if sent > 128<<20 {
			t.Errorf("%d MiB were sent", sent>>20)
		}
	case <-time.After(patience.Limit()):
		t.Error("the stream was not cut")
	}
}

func TestLargeResultsAreRejected(t *testing.T) {
	session := maliciousServer{call: func(w http.ResponseWriter, id, _ json.RawMessage) {
		result(w, id, `{"content":[{"type":"text","text":"`+strings.Repeat("x", 15<<20)+`"}]}`)
	}}.session(t)
	session.WaitForStatus(t.Context())
	got := run(t.Context(), session, "foe__act", `{}`)
	if got.Failure == "" || !strings.Contains(got.Text, "larger than 14 MiB") {
		t.Errorf("got %.300s", got.Text)
	}
}
