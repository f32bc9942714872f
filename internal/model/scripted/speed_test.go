// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/model/scripted"
)

// longRequest returns a request with a history of the given number of turns and a dozen tools.
func longRequest(turns int, stream bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":"scripted","stream":%t,"messages":[{"role":"system","content":%s}`, stream, quote(strings.Repeat("You are careful. ", 100)))
	for i := range turns {
		fmt.Fprintf(&b, `,{"role":"user","content":"question %d"},{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"t1","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c%d","content":%s}`,
			i, i, i, quote(strings.Repeat("a line of a file\n", 20)))
	}
	b.WriteString(`,{"role":"user","content":"count"}],"tools":[` + manyTools(12) + `]}`)
	return b.String()
}

// BenchmarkRequests measures whole requests over HTTP, client included.
func BenchmarkRequests(b *testing.B) {
	script := parse(b, `
rules:
- {match: {role: tester}, reply: {text: no}}
- {match: {lastMessage: '/delegate (?P<what>.*)/'}, reply: {text: no}}
- match: {role: orchestrator, lastMessage: count}
  reply: {toolCalls: [{name: spawn_agents, arguments: {tasks: [{task: 'count {{.turn}}'}, {task: count more}]}}]}
`)
	for _, bm := range []struct {
		name   string
		turns  int
		stream bool
	}{
		{"short/plain", 0, false}, {"short/stream", 0, true}, {"history20/plain", 20, false}, {"history20/stream", 20, true}, {"history200/stream", 200, true},
	} {
		b.Run(bm.name, func(b *testing.B) {
			_, url := serve(b, scripted.Options{Scripts: []*scripted.Script{script}, RecordLimit: -1})
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
			defer client.CloseIdleConnections()
			body := longRequest(bm.turns, bm.stream)
			b.SetBytes(int64(len(body)))
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					response, err := client.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
					if err != nil {
						b.Error(err)
						return
					}
					if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
						b.Errorf("status %d, %v", response.StatusCode, err)
					}
					response.Body.Close()
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
