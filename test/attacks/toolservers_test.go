// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
)

const ready = "True Ready: The server offers 1 tools."

func nested(levels int) string {
	return strings.Repeat(`{"type":"object","properties":{"a":`, levels) + `{}` + strings.Repeat(`}}`, levels)
}

// listAttack is an attack with a list of tools: bad must end with the condition, and good, the same within the
// limits, must be offered.
func listAttack(name, attempts, stops string, bad, good mcpHandler, condition string) attack {
	try := func(list mcpHandler, want string) func(*testing.T, *target) {
		return func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			r.Eventually(r.toolServer("foe", r.serve(&hostileServer{list: list}))).Should(ContainSubstring(want))
		}
	}
	return attack{name: name, attempt: attempts, defence: stops, run: try(bad, condition), control: try(good, ready)}
}

// callAttack is an attack with the result of a call: the calling task must end with the words.
func callAttack(name, attempts, stops string, bad string, words string) attack {
	try := func(answer, want string) func(*testing.T, *target) {
		return func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			f := &hostileServer{tools: []string{mcpTool("act", "Acts.", true)}, call: func(w http.ResponseWriter, id, _ json.RawMessage) { result(w, id, answer) }}
			r.Eventually(r.toolServer("foe", r.serve(f))).Should(Equal(ready))
			r.Eventually(r.callTool("call", "foe__act")).Should(ContainSubstring(want))
		}
	}
	return attack{name: name, attempt: attempts, defence: stops, run: try(bad, words), control: try(`{"content":[{"type":"text","text":"fine"}]}`, success("fine"))}
}

func zipped(size int) mcpHandler {
	return func(w http.ResponseWriter, id, _ json.RawMessage) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer func() { _ = z.Close() }() // the operator may have disconnected
		fmt.Fprintf(z, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"act","inputSchema":{"type":"object","description":"`, id)
		block := strings.Repeat("x", 1<<10)
		for range size >> 10 {
			if _, err := io.WriteString(z, block); err != nil {
				return
			}
		}
		_, _ = io.WriteString(z, `"}}]}}`)
	}
}

func schema(schema string) mcpHandler {
	return listing(`[{"name":"act","inputSchema":` + schema + `}]`)
}

var pagesServed atomic.Int64

var _ = class(
	"tool-servers",
	listAttack("a list of tools never ends", "every page of tools/list has another cursor", "a limit on pages",
		func(w http.ResponseWriter, id, _ json.RawMessage) {
			result(w, id, fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, pagesServed.Add(1)))
		},
		func(w http.ResponseWriter, id, params json.RawMessage) {
			if strings.Contains(string(params), `"2"`) {
				listing(`[`+mcpTool("act", "Acts.", true)+`]`)(w, id, params)
				return
			}
			result(w, id, `{"tools":[],"nextCursor":"2"}`)
		},
		"False InvalidResponse: list tools: the server's list of tools does not end"),
	listAttack("a cursor repeats", "tools/list returns the same cursor repeatedly", "a cursor is used once",
		func(w http.ResponseWriter, id, _ json.RawMessage) { result(w, id, `{"tools":[],"nextCursor":"a"}`) },
		listing(`[`+mcpTool("act", "Acts.", true)+`]`), "False InvalidResponse: list tools: the server's list of tools does not end"),
	listAttack("a schema fills the memory", "a tool has a schema of 15 MiB", "a limit on the size of a page",
		schema(`{"type":"object","description":"`+strings.Repeat("x", 15<<20)+`"}`), schema(`{"type":"object","description":"`+strings.Repeat("x", 15<<10)+`"}`),
		"False InvalidResponse: the endpoint sends too much"),
	listAttack("a list is a gzip bomb", "a list of 200 MiB is sent compressed", "the limit applies to the decompressed size", zipped(200<<20), zipped(20<<10),
		"False InvalidResponse: the endpoint sends too much"),
	listAttack("a schema is nested without end", "a tool has a schema of 300 levels", "a limit on depth: the tool is left out",
		schema(nested(300)), schema(nested(20)), "True Ready: The server offers 0 tools. Left out: act: "),
	listAttack("a list is nested without end", "the answer to tools/list has 200,000 levels", "a limit on the depth of every message",
		listing(strings.Repeat("[", 200_000)+strings.Repeat("]", 200_000)), listing(`[`+mcpTool("act", "Acts.", true)+`]`), "False Unreachable: "),
	listAttack("headers fill the memory", "the answer to tools/list has 1 MiB of headers", "a limit on headers",
		func(w http.ResponseWriter, id, params json.RawMessage) {
			for range 1024 {
				w.Header().Add("X-Long", strings.Repeat("x", 1024))
			}
			listing(`[`+mcpTool("act", "Acts.", true)+`]`)(w, id, params)
		},
		listing(`[`+mcpTool("act", "Acts.", true)+`]`), "False Unreachable: "),
	callAttack("a result fills the memory", "a call returns 20 MiB of text", "a limit on responses",
		`{"content":[{"type":"text","text":"`+strings.Repeat("x", 20<<20)+`"}]}`, "Failed ToolError"),
	callAttack("a result is nested without end", "a call returns structured content of 200,000 levels", "a limit on the depth of every message",
		`{"content":[],"structuredContent":{"a":`+strings.Repeat("[", 200_000)+strings.Repeat("]", 200_000)+`}}`, "Failed ToolError"),
	attack{
		name:    "a stream fills the queue of requests",
		attempt: "the server sends endless requests on the stream to the operator",
		defence: "a rate limit for what a server sends by itself: the stream is closed",
		run: func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			cut, padding := make(chan int, 1000), strings.Repeat("x", 64<<10) // large requests need less CPU for each MiB
			r.toolServer("foe", r.serve(&hostileServer{tools: []string{mcpTool("act", "Acts.", true)}, stream: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				sent := 0
				for sent < 1<<30 {
					n, err := fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"roots/list\",\"params\":{\"x\":\"%s\"}}\n\n", sent, padding)
					if err != nil {
						break
					}
					sent += n
				}
				cut <- sent
			}}))
			var sent int
			r.Eventually(cut).Should(Receive(&sent))
			r.Expect(sent).To(BeNumerically("<", 256<<20))
		},
		control: inNamespace(func(r *testNamespace) {
			f := &hostileServer{tools: []string{mcpTool("act", "Acts.", true)}}
			says := r.toolServer("foe", r.serve(f))
			r.Eventually(says).Should(Equal(ready))
			f.setTools(mcpTool("act", "Acts.", true), mcpTool("more", "Acts.", true))
			r.Eventually(says).Should(ContainSubstring("offers 2 tools"))
		}),
	},
	attack{
		name:    "a condition contains markup and control characters",
		attempt: "an error of the server contains HTML, escape sequences and characters that reorder text",
		defence: "texts of servers are sanitised and shortened before they are shown",
		run: func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			says := r.toolServer("foe", r.serve(&hostileServer{list: func(w http.ResponseWriter, id, _ json.RawMessage) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"<img src=x onerror=alert(1)>no\u001b[2J\u202e %s"}}`, id, strings.Repeat("words ", 10000))
			}}))
			r.Eventually(says).Should(HavePrefix("False Unreachable: "))
			r.Expect(says()).NotTo(Or(ContainSubstring("<img"), ContainSubstring("\x1b"), ContainSubstring("\u202e")))
			r.Expect(len(says())).To(BeNumerically("<", 400))
		},
		control: func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			says := r.toolServer("foe", r.serve(&hostileServer{list: func(w http.ResponseWriter, id, _ json.RawMessage) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"come back tomorrow"}}`, id)
			}}))
			r.Eventually(says).Should(ContainSubstring("come back tomorrow"))
		},
	},
	attack{
		name:    "a slow server blocks others",
		attempt: "the server never answers tools/list",
		defence: "each server has its own session with a timeout",
		run: func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			r.toolServer("slow", r.serve(&hostileServer{list: func(w http.ResponseWriter, _, _ json.RawMessage) {
				w.Header().Set("Content-Type", "application/json")
				for {
					if _, err := io.WriteString(w, " "); err != nil {
						return
					}
					w.(http.Flusher).Flush()
				}
			}}))
			r.Eventually(r.toolServer("good", r.serve(&hostileServer{tools: []string{mcpTool("act", "Acts.", true)}}))).Should(Equal(ready))
			r.Eventually(r.callTool("call", "good__act")).Should(Equal(success("done")))
		},
		control: inNamespace(func(r *testNamespace) {
			r.Eventually(r.toolServer("good", r.serve(&hostileServer{tools: []string{mcpTool("act", "Acts.", true)}}))).Should(Equal(ready))
		}),
	},
)
