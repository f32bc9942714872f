// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// inProcess answers requests without a network, so that only the client's allocations are counted.
type inProcess struct{ handler http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil { // a server's requests always have one
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.WroteHeaders != nil {
		trace.WroteHeaders()
	}
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// TestCallsAllocateLittle: with a thousand active agents, the allocations of a call determine how often the operator
// collects garbage and how much memory it needs.
func TestCallsAllocateLittle(t *testing.T) {
	const calls, mostBytes = 200, 24 << 10
	server := maliciousServer{call: func(w http.ResponseWriter, id, _ json.RawMessage) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}\n\n", id)
	}}
	session := maliciousServer{}.session(t, func(o *mcp.Options) { o.HTTP = inProcess{server} })
	session.WaitForStatus(t.Context())
	call := func() {
		if got := run(t.Context(), session, "foe__act", `{}`); got.Text != "done" {
			t.Fatalf("got %+v", got)
		}
	}
	call()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		call()
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / calls; each > mostBytes { // 147 KB when the SDK made the calls
		t.Errorf("a call allocates %d bytes, want at most %d", each, mostBytes)
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	for name, meddle := range map[string]func(http.ResponseWriter, *http.Request, string, http.Handler){"current server": nil, "legacy server": legacy} {
		t.Run(name, func(t *testing.T) {
			h := makeHost(t, mcp.StreamableHTTP, lab(addTool(sdk.Tool{Name: "act"}, answer(text("done")))))
			h.setIntercept(meddle)
			var opened atomic.Int32
			counting := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				opened.Add(1)
				return (&net.Dialer{}).DialContext(ctx, network, address)
			}}
			session := makeClient(t, mcp.Options{HTTP: counting}).connect(t, describe(h, mcp.StreamableHTTP))
			for range 50 {
				if got := run(t.Context(), session, "lab__act", `{}`); got.Text != "done" {
					t.Fatalf("got %+v", got)
				}
			}
			// A stream may end a little after its answer, and the next call does not wait for that.
			if opened.Load() > 10 {
				t.Errorf("%d connections were opened for 50 calls one after the other", opened.Load())
			}
		})
	}
}

// TestServerAsksOnOwnStream: servers of earlier revisions may send a request for input on the stream that a GET opened,
// whether they report changes of their tools or not.
func TestServerAsksOnOwnStream(t *testing.T) {
	asked, answered := make(chan struct{}), make(chan json.RawMessage, 1)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID, Result json.RawMessage
			Method     string
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m)
		switch {
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			select {
			case <-asked:
				fmt.Fprint(w, `data: {"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"Really?"}}`+"\n\n")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			case <-r.Context().Done():
			}
		case m.Method == "initialize":
			result(w, m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"foe","version":"1"}}`)
		case m.Method == "tools/call":
			close(asked)
			select {
			case answer := <-answered:
				result(w, m.ID, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, answer))
			case <-r.Context().Done():
			}
		case string(m.ID) == "7":
			answered <- m.Result
			w.WriteHeader(http.StatusAccepted)
		default:
			r.Body = io.NopCloser(bytes.NewReader(body))
			maliciousServer{}.ServeHTTP(w, r)
		}
	})
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	session := makeClient(t, mcp.Options{}).connect(t, mcp.Server{Key: mcp.Key{Server: "lab"}, Prefix: tool.ServerPrefix("lab"), Transport: mcp.StreamableHTTP, URL: web.URL})
	outcome, questions := respond(t, session, session.Tools().Names()[0], "yes")
	if !strings.Contains(outcome.Text, `"action":"accept"`) || len(questions) != 1 {
		t.Errorf("got %q after the questions %q", outcome.Text, questions)
	}
}

// scripted is a server that answers calls with the given streams, one after the other, with ID replaced by the call's
// ID. It records other messages.
type scripted struct {
	maliciousServer
	mu            sync.Mutex
	streams       []string
	id            string
	notifications []string
	from          []string
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var m struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(body, &m)
	s.mu.Lock()
	defer s.mu.Unlock()
	resumed := r.Header.Get("Last-Event-ID")
	switch {
	case m.Method == "tools/call" || resumed != "":
		if m.Method == "tools/call" {
			s.id = string(m.ID)
		} else {
			s.from = append(s.from, resumed)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.ReplaceAll(s.streams[0], "ID", s.id))
		s.streams = s.streams[1:]
	case m.Method == "" && len(m.ID) > 0, m.Method == "notifications/cancelled":
		s.notifications = append(s.notifications, string(body))
		w.WriteHeader(http.StatusAccepted)
	default:
		s.maliciousServer.ServeHTTP(w, r)
	}
}

const done = `data: {"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}` + "\n\n"

func TestAnswersThatAreStreams(t *testing.T) {
	for name, tc := range map[string]struct {
		streams []string
		text    string
		failure tool.Failure
		told    []string
		from    []string
	}{
		"an answer":                 {streams: []string{done}, text: "done"},
		"without the last line":     {streams: []string{strings.TrimRight(done, "\n")}, text: "done"},
		"comments and other events": {streams: []string{": hello\n\nevent: other\ndata: nothing\n\nevent: message\r\n" + strings.ReplaceAll(done, "\n", "\r\n")}, text: "done"},
		"data in several lines":     {streams: []string{"data: {\"jsonrpc\":\"2.0\",\"id\":ID,\ndata: \"result\":{\"content\":[{\"type\":\"text\",\"text\":\"two\"}]}}\n\n"}, text: "two"},
		"an answer to another call": {streams: []string{strings.Replace(done, "ID", "7", 1) + done}, text: "done"},
		"structured content": {
			streams: []string{`data: {"id":ID,"result":{"content":[],"structuredContent":{"b":1,"a":12345678901234567890}}}` + "\n\n"},
			text:    `{"b":1,"a":12345678901234567890}`,
		},
		"a server that is too busy at first": {streams: []string{`data: {"id":ID,"result":{"resultType":"input_required"}}` + "\n\n", done}, text: "done"},
		"requests of the server": {
			streams: []string{"data: {\"id\":\"a\",\"method\":\"ping\"}\n\ndata: {\"id\":2,\"method\":\"sampling/createMessage\"}\n\n" + done}, text: "done",
			told: []string{`{"jsonrpc":"2.0","id":"a","result":{}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"not supported"}}`},
		},
		"resumed":             {streams: []string{"id: 1\nretry: 1\ndata:\n\n", "id: 2\ndata:\n\nid: 3\ndata: {\"jsonrpc\":\"2.0\",\"id\":", done}, text: "done", from: []string{"1", "2"}},
		"not resumed forever": {streams: slices.Repeat([]string{"id: 1\nretry: 1\ndata:\n\n"}, 20), failure: tool.Failed, from: slices.Repeat([]string{"1"}, 5)},
		"no answer":           {streams: []string{"data:\n\n"}, failure: tool.Failed},
		"no JSON":             {streams: []string{"data: hello\n\n"}, failure: tool.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &scripted{streams: tc.streams}
			session := maliciousServer{}.session(t, func(o *mcp.Options) { o.HTTP = inProcess{server} })
			session.WaitForStatus(t.Context())
			got := run(t.Context(), session, "foe__act", `{}`)
			if got.Failure != tc.failure || tc.text != "" && got.Text != tc.text {
				t.Errorf("got %s: %q", got.Failure, got.Text)
			}
			if tc.text == "" && !got.OutcomeUnknown {
				t.Errorf("the server took the call, and what came of it is not unknown: %+v", got)
			}
			server.mu.Lock()
			defer server.mu.Unlock()
			if diff := cmp.Diff(tc.told, server.notifications); diff != "" {
				t.Errorf("told the server (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.from, server.from); diff != "" {
				t.Errorf("resumed from (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCancelledCallNotifiesTheServer(t *testing.T) {
	notified := make(chan string, 1)
	asked := make(chan string, 1)
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ RequestID json.RawMessage }
		}
		_ = json.Unmarshal(body, &m)
		switch m.Method {
		case "tools/call":
			asked <- string(m.ID)
			<-r.Context().Done()
		case "notifications/cancelled":
			notified <- string(m.Params.RequestID)
			w.WriteHeader(http.StatusAccepted)
		default:
			r.Body = io.NopCloser(bytes.NewReader(body))
			maliciousServer{}.ServeHTTP(w, r)
		}
	})
	session := maliciousServer{}.session(t, func(o *mcp.Options) { o.HTTP = inProcess{server} })
	session.WaitForStatus(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	ids := make(chan string, 1)
	go func() {
		ids <- <-asked
		cancel()
	}()
	if got := run(ctx, session, "foe__act", `{}`); got.Failure != tool.Cancelled {
		t.Errorf("got %+v", got)
	}
	if got, id := <-notified, <-ids; got != id {
		t.Errorf("the server was notified that %s is cancelled, want %s", got, id)
	}
}
