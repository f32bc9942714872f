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

// FuzzOtherAPIs sends any bytes to the other APIs, strict and lenient. There must be no panic, and no other status.
func FuzzOtherAPIs(f *testing.F) {
	for _, body := range []string{
		`{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"eA=="},{"type":"function_call","call_id":"a","name":"ls","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"x"}]}`,
		`{"model":"m","max_tokens":9,"stream":true,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"}]}]}]}`,
		`{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"a","args":{}},"thoughtSignature":"eA=="}]},{"role":"user","parts":[{"functionResponse":{"name":"a","response":{}}}]}],"tools":[{"functionDeclarations":[{"name":"a","parameters":{"type":"OBJECT","properties":{"x":{"type":"ARRAY","items":{"type":"STRING"}}}}}]}]}`,
	} {
		f.Add([]byte(body))
	}
	script, err := scripted.Parse("fuzz.yaml", []byte("fallback: {reasoning: Hm., toolCalls: [{name: a, arguments: {x: '{{.last}}'}}]}"))
	if err != nil {
		f.Fatal(err)
	}
	var servers []http.Handler
	for _, lenient := range []bool{false, true} {
		servers = append(servers, scripted.NewServer(scripted.Options{Scripts: []*scripted.Script{script}, RecordLimit: -1, Lenient: lenient}))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{"/v1/responses", "/v1/messages", "/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent?alt=sse"} {
			for _, server := range servers {
				w := httptest.NewRecorder()
				request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(string(body)))
				request.Header.Set("Anthropic-Version", "2023-06-01")
				server.ServeHTTP(w, request)
				if w.Code != http.StatusOK && w.Code != http.StatusBadRequest && w.Code != http.StatusNotFound {
					t.Errorf("%s: status %d: %s", path, w.Code, w.Body)
				}
			}
		}
	})
}
