// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/scripted"
)

// A PNG of one pixel, and the first bytes of other images.
const (
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	gif   = "R0lGODlhAQABAAAAACw="
)

// call posts a request to an API and returns the status, the headers and the body of the response.
func call(t testing.TB, url, body string, headers map[string]string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(data)
}

// refusal is a request that an API refuses, and a part of the message.
type refusal struct{ body, wantMessage string }

// wireTest describes how to reach one API.
type wireTest struct {
	path    string
	headers map[string]string
	// form is a part of each error's body.
	form string
}

// testStrict checks that the requests are refused in strict mode with 400 in the API's form, and accepted in lenient
// mode if they are JSON of the right types.
func testStrict(t *testing.T, wire wireTest, refused map[string]refusal, accepted map[string]string) {
	options := scripted.Options{Scripts: []*scripted.Script{parse(t, "fallback: {text: Hello.}")}}
	_, url := serve(t, options)
	options.Lenient = true
	_, lenient := serve(t, options)
	for name, tc := range refused {
		t.Run(name, func(t *testing.T) {
			status, _, body := call(t, url+wire.path, tc.body, wire.headers)
			if status != http.StatusBadRequest || !strings.Contains(body, quote(tc.wantMessage)[1:len(quote(tc.wantMessage))-1]) || !strings.Contains(body, wire.form) {
				t.Errorf("got %d %s, want 400 with %q", status, body, tc.wantMessage)
			}
			status, _, body = call(t, lenient+wire.path, tc.body, nil)
			if json.Valid([]byte(tc.body)) && status != http.StatusOK && !strings.Contains(body, "unmarshal") {
				t.Errorf("lenient mode refused it: %d %s", status, body)
			}
		})
	}
	for name, body := range accepted {
		t.Run("accepts "+name, func(t *testing.T) {
			if status, _, got := call(t, url+wire.path, body, wire.headers); status != http.StatusOK {
				t.Errorf("%s was refused: %s", body, got)
			}
		})
	}
}

// wires returns a request with the text "hi" for each API.
func wires() map[model.API]struct{ path, body string } {
	return map[model.API]struct{ path, body string }{
		model.OpenAI:          {"/v1/chat/completions", hello},
		model.OpenAIResponses: {"/v1/responses", `{"model":"scripted","input":"hi"}`},
		model.Anthropic:       {"/v1/messages", `{"model":"scripted","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`},
		model.Gemini:          {"/v1beta/models/scripted:generateContent", geminiHello},
		model.Vertex:          {"/v1/projects/p/locations/global/publishers/google/models/scripted:generateContent", geminiHello},
		model.Bedrock:         {"/model/scripted/converse", bedrockHello},
	}
}

func TestRecordedRequestsHaveTheirAPI(t *testing.T) {
	server, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, "fallback: {text: Hello.}")}})
	for api, wire := range wires() {
		status, _, body := call(t, url+wire.path, wire.body, anthropicHeaders)
		recorded := server.Requests()
		newest := recorded[len(recorded)-1]
		if status != http.StatusOK || newest.API != api || newest.Model != "scripted" || newest.Messages != 1 || newest.Turn != 1 {
			t.Errorf("%s: got %d %s, recorded %+v", api, status, body, newest)
		}
	}
	_, _, body := call(t, url+"/v1/responses", `{"model":"scripted"}`, nil)
	response, err := http.Get(url + "/_scripted/requests")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for api := range wires() {
		if !strings.Contains(string(data), `"api":"`+string(api)+`"`) {
			t.Errorf("%s is not among the requests: %s", api, data)
		}
	}
	if !strings.Contains(string(data), `"status":400`) {
		t.Errorf("the refused request is not among them: %s, %s", body, data)
	}
}

func TestModelsOfEachAPI(t *testing.T) {
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, "models: [one, two]\nfallback: {}")}, APIKey: "secret"})
	for name, tc := range map[string]struct{ path, header, key, want string }{
		"OpenAI":          {"/v1/models", "Authorization", "Bearer secret", `{"data":[{"id":"one","object":"model","created":1767225600,"owned_by":"nestor"},`},
		"Anthropic":       {"/v1/models", "X-Api-Key", "secret", `{"data":[{"created_at":"2026-01-01T00:00:00Z","display_name":"one","id":"one","type":"model"},`},
		"Gemini":          {"/v1beta/models", "X-Goog-Api-Key", "secret", `"name":"models/one"`},
		"OpenAI, none":    {"/v1/models", "Authorization", "", `"code":"invalid_api_key"`},
		"Anthropic, none": {"/v1/models", "X-Api-Key", "", `"type":"authentication_error"`},
		"Gemini, none":    {"/v1beta/models", "X-Goog-Api-Key", "", `"status":"PERMISSION_DENIED"`},
		"Vertex":          {"/v1beta1/publishers/google/models", "Authorization", "Bearer secret", `"name":"publishers/google/models/one"`},
		"Vertex, none":    {"/v1beta1/publishers/google/models", "Authorization", "", `"status":"UNAUTHENTICATED"`},
		"Bedrock":         {"/foundation-models", "Authorization", "Bearer secret", `"modelId":"one"`},
		"Bedrock, none":   {"/foundation-models", "Authorization", "", "Missing Authentication Token"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+tc.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(tc.header, tc.key)
		if strings.HasPrefix(name, "Anthropic") {
			request.Header.Set("Anthropic-Version", "2023-06-01")
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || !strings.Contains(string(body), tc.want) {
			t.Errorf("%s: got %s, %v, want %s", name, body, err, tc.want)
		}
	}
}

// TestSameRulesMatchOnEveryAPI sends one conversation with a system prompt, a tool loop with an image, and a later
// message.
func TestSameRulesMatchOnEveryAPI(t *testing.T) {
	const script = `
rules:
- {match: {from: user, lastMessage: Later, turn: 3, history: A listing}, reply: {text: later}}
- {match: {role: reviewer, toolResult: {tool: ls, text: '/A (?P<what>listing)/'}, images: 1, turn: 2, tools: [ls], model: m, system: careful}, reply: {text: 'result {{.what}}'}}
- {match: {from: user, lastMessage: hi, turn: 1}, reply: {text: first}}
`
	const system = "Be careful. You are operating as a **Reviewer** sub-agent."
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, script)}})
	signed := `"thoughtSignature":"skip_thought_signature_validator"`
	for name, tc := range map[string]struct {
		path, before, after  string
		first, result, later string
	}{
		"OpenAI": {
			"/v1/chat/completions", `{"model":"m","messages":[{"role":"system","content":"` + system + `"},`, `],"tools":[{"type":"function","function":{"name":"ls"}}]}`,
			`{"role":"user","content":"hi"}`,
			`,{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"A listing"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + pixel + `"}}]}`,
			`,{"role":"assistant","content":"ok"},{"role":"user","content":"Later"}`,
		},
		"Responses": {
			"/v1/responses", `{"model":"m","instructions":"` + system + `","input":[`, `],"tools":[{"type":"function","name":"ls","parameters":{"type":"object"}}]}`,
			`{"role":"user","content":"hi"}`,
			`,{"type":"function_call","call_id":"a","name":"ls","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"A listing"},{"type":"input_image","image_url":"data:image/png;base64,` + pixel + `"}]}`,
			`,{"role":"assistant","content":"ok"},{"role":"user","content":"Later"}`,
		},
		"Anthropic": {
			"/v1/messages", `{"model":"m","max_tokens":9,"system":"` + system + `","messages":[`, `],"tools":[{"name":"ls","input_schema":{"type":"object"}}]}`,
			`{"role":"user","content":"hi"}`,
			`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"A listing"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}}]}]}`,
			`,{"role":"assistant","content":"ok"},{"role":"user","content":[{"type":"text","text":"Before"},{"type":"text","text":"Later"}]}`,
		},
		"Bedrock": {
			"/model/m/converse", `{"system":[{"text":"` + system + `"}],"messages":[`, `],"toolConfig":{"tools":[{"toolSpec":{"name":"ls","inputSchema":{"json":{"type":"object"}}}}]}}`,
			`{"role":"user","content":[{"text":"hi"}]}`,
			`,{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"ls","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"A listing"},{"image":{"format":"png","source":{"bytes":"` + pixel + `"}}}]}}]}`,
			`,{"role":"assistant","content":[{"text":"ok"}]},{"role":"user","content":[{"text":"Before"},{"text":"Later"}]}`,
		},
		"Gemini": {
			"/v1beta/models/m:generateContent", `{"systemInstruction":{"parts":[{"text":"` + system + `"}]},"contents":[`, `],"tools":[{"functionDeclarations":[{"name":"ls"}]}]}`,
			`{"role":"user","parts":[{"text":"hi"}]}`,
			`,{"role":"model","parts":[{"functionCall":{"name":"ls","args":{}},` + signed + `}]},{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{"output":"A listing"}}},{"inlineData":{"mimeType":"image/png","data":"` + pixel + `"}}]}`,
			`,{"role":"model","parts":[{"text":"ok"}]},{"role":"user","parts":[{"text":"Before"}]},{"role":"user","parts":[{"text":"Later"}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for messages, want := range map[string]string{
				tc.first: `"first"`, tc.first + tc.result: `"result listing"`, tc.first + tc.result + tc.later: `"later"`,
			} {
				if _, _, body := call(t, url+tc.path, tc.before+messages+tc.after, anthropicHeaders); !strings.Contains(body, want) {
					t.Errorf("got %s, want %s", body, want)
				}
			}
		})
	}
}

func TestForbiddenToolsAreNotOffered(t *testing.T) {
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, "rules: [{match: {noTools: true}, reply: {text: none}}]\nfallback: {text: some}")}})
	for api, tools := range map[model.API][2]string{ // Bedrock cannot forbid them
		model.OpenAI:          {`,"tools":[{"type":"function","function":{"name":"ls"}}]`, `,"tool_choice":"none"`},
		model.OpenAIResponses: {`,"tools":[{"type":"function","name":"ls","parameters":{"type":"object"}}]`, `,"tool_choice":"none"`},
		model.Anthropic:       {`,"tools":[{"name":"ls","input_schema":{"type":"object"}}]`, `,"tool_choice":{"type":"none"}`},
		model.Gemini:          {`,"tools":[{"functionDeclarations":[{"name":"ls"}]}]`, `,"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}`},
	} {
		wire := wires()[api]
		for fields, want := range map[string]string{"": `"none"`, tools[0]: `"some"`, tools[0] + tools[1]: `"none"`} {
			if _, _, body := call(t, url+wire.path, strings.TrimSuffix(wire.body, "}")+fields+"}", anthropicHeaders); !strings.Contains(body, want) {
				t.Errorf("%s with %s: got %s, want %s", api, fields, body, want)
			}
		}
	}
}

// TestFaultsOnEveryAPI breaks streams and plain replies.
func TestFaultsOnEveryAPI(t *testing.T) {
	for api, wire := range wires() {
		stream := wire
		switch api {
		case model.Bedrock:
			stream.path += "-stream"
		case model.Gemini, model.Vertex:
			stream.path = strings.Replace(wire.path, ":generateContent", ":streamGenerateContent?alt=sse", 1)
		default:
			stream.body = strings.Replace(wire.body, "{", `{"stream":true,`, 1)
		}
		for name, tc := range map[string]struct {
			script      string
			wantMessage string
			cut         bool
		}{
			"an error in the stream": {"{text: Hello., fault: {kind: error, after: 1, error: {status: 503, message: It is overloaded.}}}", "It is overloaded.", false},
			"malformed":              {"{text: Hello., fault: {kind: malformed, after: 99}}", malformedOn(api), false},
			"cut":                    {"{text: Hello., fault: {kind: cut, after: 99}}", "Hello", true},
			"raw":                    {"{raw: {status: 200, body: as it is}}", "as it is", false},
		} {
			t.Run(string(api)+"/"+name, func(t *testing.T) {
				_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, "fallback: "+tc.script)}})
				body, err := read(t, url+stream.path, stream.body)
				if (err != nil) != tc.cut || !strings.Contains(body, tc.wantMessage) {
					t.Errorf("got %q, %v; want %q", body, err, tc.wantMessage)
				}
				for _, end := range []string{"[DONE]", "response.completed", "message_stop", "messageStop", "finishReason"} {
					if strings.Contains(body, end) {
						t.Errorf("the stream has its end: %s", body)
					}
				}
			})
		}
		_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, "fallback: {text: Hello., fault: {kind: error}}")}})
		if status, _, body := call(t, url+wire.path, wire.body, anthropicHeaders); status != http.StatusInternalServerError || !strings.Contains(body, `"message":`) {
			t.Errorf("%s without a stream: got %d %s", api, status, body)
		}
	}
}

func malformedOn(api model.API) string {
	if api == model.Bedrock {
		return `{"delta":{"text":`
	}
	return `"choices": [{"delta":`
}

// read posts a request and returns the part of the response that arrived.
func read(t *testing.T, url, body string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Anthropic-Version", "2023-06-01")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return string(data), err
}
