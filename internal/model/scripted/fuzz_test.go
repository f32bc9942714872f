// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/model/scripted"
)

// FuzzScript parses any bytes as a script. There must be no panic, and an error names the file.
func FuzzScript(f *testing.F) {
	f.Add([]byte("rules:\n- match: {role: [a, b], lastMessage: '/x(?P<y>.)/', toolResult: {tool: t, text: z}}\n  times: 2\n  reply: {text: '{{.y}}', toolCalls: [{name: n, arguments: {a: [1, '{{.last}}', null, 1.5]}}]}\n"))
	f.Add([]byte("fallback: {raw: {status: 200, headers: {A: b}, body: x}, latency: 1s}"))
	f.Add([]byte("rules:\n- &a {reply: {fault: {kind: cut, after: 1}}}\n- *a\n- \n"))
	f.Add([]byte("rules: [{reply: {toolCalls: [{name: a, arguments: &x {b: *x}}]}}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := scripted.Parse("fuzz.yaml", data); err != nil && !strings.HasPrefix(err.Error(), "fuzz.yaml:") {
			t.Errorf("the error does not begin with the file: %v", err)
		}
	})
}

// FuzzRequest sends any bytes as a request to the strict server, which must answer with 200 or 400.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(hello))
	f.Add([]byte(`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"a","arguments":"{}"}}]},{"role":"tool","tool_call_id":"x","content":"b"}]}`))
	f.Add([]byte(`{"model":"m","messages":[{"role":"system","content":"You are operating as a **X** sub-agent"},{"role":"user","content":[{"type":"text","text":"a"}]}],"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"object"}}}]}`))
	script, err := scripted.Parse("fuzz.yaml", []byte("rules: [{match: {role: x, history: a, toolResult: {text: '/(?P<b>.)/'}}, reply: {text: '{{.b}}'}}]\nfallback: {toolCalls: [{name: a, arguments: {x: '{{.last}}'}}]}"))
	if err != nil {
		f.Fatal(err)
	}
	server := scripted.NewServer(scripted.Options{Scripts: []*scripted.Script{script}, RecordLimit: -1})
	f.Fuzz(func(t *testing.T, body []byte) {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions", strings.NewReader(string(body))))
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}
