// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/test/patience"
)

func parse(t testing.TB, script string) *scripted.Script {
	t.Helper()
	parsed, err := scripted.Parse("test.yaml", []byte(script))
	if err != nil {
		t.Fatalf("parse script: %v", err)
	}
	return parsed
}

// serve plays a script over HTTP.
func serve(t testing.TB, options scripted.Options) (*scripted.Server, string) {
	t.Helper()
	server := scripted.NewServer(options)
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	return server, listening.URL
}

func post(t testing.TB, url, body string) (int, string) {
	t.Helper()
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

// answerText returns the text of a plain answer, or the tool calls, or the error.
func answerText(t testing.TB, body string) string {
	t.Helper()
	var reply struct {
		Choices []struct {
			Message struct {
				Content   string
				ToolCalls []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
		Error struct{ Message string }
	}
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if len(reply.Choices) == 0 {
		return "error: " + reply.Error.Message
	}
	text := reply.Choices[0].Message.Content
	for _, call := range reply.Choices[0].Message.ToolCalls {
		text += call.Function.Name + call.Function.Arguments
	}
	return text
}

func TestRulesMatch(t *testing.T) {
	const script = `
rules:
- {match: {model: /^small-/}, reply: {text: by model}}
- {match: {history: Alice, lastMessage: my name}, reply: {text: by history}}
- {match: {toolResult: {tool: read, text: '/version (?P<version>\d+)/'}}, reply: {text: 'read version {{.version}}'}}
- {match: {toolResult: {tool: read}}, reply: {text: 'read {{.toolResult | trim | upper}}'}}
- {match: {role: reviewer, turn: 2}, reply: {text: reviewer again}}
- {match: {role: [code-reviewer, Reviewer]}, reply: {text: reviewer}}
- {match: {system: be terse}, reply: {text: by system}}
- {match: {role: orchestrator, tools: [spawn_agents, ask_user]}, reply: {text: by tools}}
- {match: {role: orchestrator, lastMessage: no tools, noTools: true}, reply: {text: without tools}}
- match: {lastMessage: '/sub-agent (?P<agent>[a-z0-9-]+) asks/', from: user}
  reply: {toolCalls: [{name: reply_to_agent, arguments: {sub_agent: '{{.agent}}', answer: 'a "quoted" {{.agent}}', confidence: 90, list: [1, '{{.turn}}', true, null]}}]}
- {match: {from: user, lastMessage: parse}, reply: {text: '{{(json .last).parse}}'}}
- {match: {from: user, lastMessage: find}, reply: {text: '{{find "find ([a-z]+)" .last}}/{{find "[0-9]+" .last}}'}}
- {match: {lastMessage: broken}, reply: {text: '{{.nothing}}'}}
- {match: {lastMessage: '/Call (?P<tool>\w+)/'}, reply: {toolCalls: [{name: '{{.tool}}'}]}}
`
	const system = `{"role":"system","content":"SYSTEM"},`
	reviewer := strings.Replace(system, "SYSTEM", `## Sub-Agent Context\n\nYou are operating as a **Code Reviewer** sub-agent (depth 1/2).\n- Parent agent: main`, 1)
	user := func(text string) string { return `{"role":"user","content":` + quote(text) + `}` }
	afterRead := func(result string) string {
		return user("go") + `,{"role":"assistant","content":null,"tool_calls":[` +
			`{"id":"x","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"y","type":"function","function":{"name":"read","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"y","content":` + quote(result) + `},{"role":"tool","tool_call_id":"x","content":"a b"}`
	}
	tool := func(name string) string { return `{"type":"function","function":{"name":"` + name + `"}}` }
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, script)}})
	for name, tc := range map[string]struct{ model, messages, tools, want string }{
		"model":                      {model: "small-1", messages: user("hi"), want: "by model"},
		"history":                    {messages: user("I am Alice.") + `,{"role":"assistant","content":"Hello."},` + user("What is my name?"), want: "by history"},
		"tool result with capture":   {messages: afterRead("version 12 of it"), want: "read version 12"},
		"tool result":                {messages: afterRead(" ok "), want: "read OK"},
		"role by display name":       {messages: reviewer + user("hi"), want: "reviewer"},
		"role, not the turn":         {messages: reviewer + user("hi") + `,{"role":"assistant","content":"Hello."},` + user("hi"), want: "reviewer"},
		"role by name":               {messages: strings.Replace(reviewer, "Code Reviewer", "reviewer", 1) + user("hi"), want: "reviewer"},
		"role and turn":              {messages: strings.Replace(reviewer, "a **Code Reviewer", "an **REVIEWER", 1) + user("hi") + `,{"role":"assistant","content":"Hello."},` + user("hi"), want: "reviewer again"},
		"system prompt":              {messages: strings.Replace(system, "SYSTEM", "Please be terse.", 1) + user("hi"), want: "by system"},
		"tools":                      {messages: user("hi"), tools: tool("ask_user") + "," + tool("spawn_agents"), want: "by tools"},
		"no tools":                   {messages: user("no tools"), want: "without tools"},
		"content in parts":           {messages: `{"role":"user","content":[{"type":"text","text":"no "},{"type":"text","text":"tools"}]}`, want: "without tools"},
		"captures in arguments":      {messages: user("The sub-agent fetch-1 asks: why?"), want: `reply_to_agent{"sub_agent":"fetch-1","answer":"a \"quoted\" fetch-1","confidence":90,"list":[1,"1",true,null]}`},
		"a capture as a tool's name": {messages: user("Call ls"), want: "ls{}"},
		"JSON in a template":         {messages: user(`{"parse": "me"}`), want: "me"},
		"expressions in a template":  {messages: user("find this 42"), want: "this/42"},
		"a broken template":          {messages: user("broken"), want: `error: scripted model: test.yaml:16: template: text:1:2: executing "text" at <.nothing>: map has no entry for key "nothing"`},
		"nothing": {
			messages: user("no tools"), tools: tool("ask_user"),
			want: `error: scripted model: no rule matches role "orchestrator", turn 1, model "scripted", last message (user) "no tools", tools [ask_user]. Add a rule, or a fallback.`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"model":"` + tc.model + `","messages":[` + tc.messages + `]`
			if tc.model == "" {
				body = strings.Replace(body, `""`, `"scripted"`, 1)
			}
			if tc.tools != "" {
				body += `,"tools":[` + tc.tools + `]`
			}
			_, got := post(t, url+"/v1/chat/completions", body+"}")
			if diff := cmp.Diff(tc.want, answerText(t, got)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func quote(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}

const hello = `{"model":"scripted","messages":[{"role":"user","content":"hi"}]}`

func TestTimesAndFallback(t *testing.T) {
	script := parse(t, "rules:\n- {times: 2, reply: {text: first}}\n- {times: 1, reply: {error: {status: 503}}}\nfallback: {text: last}")
	server, url := serve(t, scripted.Options{Scripts: []*scripted.Script{script}})
	play := func() []string {
		got := make([]string, 0, 5)
		for range 5 {
			_, body := post(t, url+"/v1/chat/completions", hello)
			got = append(got, answerText(t, body))
		}
		return got
	}
	want := []string{"first", "first", "error: Service Unavailable", "last", "last"}
	if diff := cmp.Diff(want, play()); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	server.Reset()
	if diff := cmp.Diff(want, play()); diff != "" {
		t.Errorf("answers after a reset (-want +got):\n%s", diff)
	}
}

func TestServerAdministration(t *testing.T) {
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, "models: [one]\nrules:\n- {times: 1, reply: {text: given}}\n- {reply: {text: later}}")}})
	answer := func() string {
		_, body := post(t, url+"/v1/chat/completions", strings.Replace(hello, "scripted", "one", 1))
		return answerText(t, body)
	}
	if status, body := post(t, url+"/_scripted/script", "rules: [{times: 1, reply: {text: added}}]"); status != http.StatusNoContent {
		t.Fatalf("add a script: %d %s", status, body)
	}
	if status, body := post(t, url+"/_scripted/script", "rules:\n- reply: {txt: no}"); status != http.StatusBadRequest || !strings.Contains(body, "request:2: field txt not found") {
		t.Errorf("a bad script: %d %s", status, body)
	}
	if got := answer() + " " + answer() + " " + answer(); got != "added given later" {
		t.Errorf("answers are %q", got)
	}
	response, err := http.Get(url + "/_scripted/requests")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var recorded struct {
		Total    int
		Requests []struct {
			Number, Status, Turn, Messages int
			Rule, Role, Model              string
			Body                           map[string]any
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&recorded); err != nil {
		t.Fatal(err)
	}
	if recorded.Total != 3 || recorded.Requests[0].Rule != "request:1" || recorded.Requests[2].Rule != "test.yaml:4" || recorded.Requests[1].Body["model"] != "one" {
		t.Errorf("recorded: %+v", recorded)
	}
	if status, _ := post(t, url+"/_scripted/reset", ""); status != http.StatusNoContent {
		t.Errorf("reset: %d", status)
	}
	if got := answer(); got != "given" {
		t.Errorf("after the reset the answer is %q", got)
	}
}

func TestRequestEndsWithClient(t *testing.T) {
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, "fallback: {fault: {kind: hang}}")}})
	ctx, leave := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(hello))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Idempotency-Key", "alice/1")
	left := make(chan struct{})
	go func() {
		defer close(left)
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
		}
	}()
	waitForRequests(t, url+"/_scripted/requests?key=alice/", 1, 1)
	waitForRequests(t, url+"/_scripted/requests?key=bob/", 1, 0)
	leave()
	<-left
	waitForRequests(t, url+"/_scripted/requests?key=alice/", 0, 1)
}

// waitForRequests waits until the server reports the given numbers of replies in flight and of requests.
func waitForRequests(t *testing.T, url string, underWay, requests int) {
	t.Helper()
	if !patience.Until(func() bool {
		response, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			UnderWay int
			Requests []json.RawMessage
		}
		err = json.NewDecoder(response.Body).Decode(&got)
		_ = response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		return got.UnderWay == underWay && len(got.Requests) == requests
	}) {
		t.Fatalf("%s never reported %d requests with %d in flight", url, requests, underWay)
	}
}

func TestRecorderKeepsTheNewest(t *testing.T) {
	for limit, want := range map[int]string{3: "5 6 7 ", 0: "1 2 3 4 5 6 7 ", -1: ""} {
		server, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, "fallback: {}")}, RecordLimit: limit})
		for range 7 {
			post(t, url+"/v1/chat/completions", hello)
		}
		var got strings.Builder
		for _, r := range server.Requests() {
			got.WriteString(string(rune('0'+r.Number)) + " ")
		}
		if got.String() != want {
			t.Errorf("limit %d keeps %q, want %q", limit, got.String(), want)
		}
	}
}

func TestSameRequestGetsSameBytes(t *testing.T) {
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, "fallback: {text: Hello., toolCalls: [{name: ls}]}")}})
	_, first := post(t, url+"/v1/chat/completions", hello)
	_, second := post(t, url+"/v1/chat/completions", hello)
	if first != second {
		t.Errorf("answers differ:\n%s\n%s", first, second)
	}
	_, other := post(t, url+"/v1/chat/completions", strings.Replace(hello, "hi", "ho", 1))
	if first == other {
		t.Error("another request got the same ids")
	}
}

func TestModelsMustExist(t *testing.T) {
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, "models: [one]\nfallback: {text: Hello.}")}})
	status, body := post(t, url+"/v1/chat/completions", hello)
	if status != http.StatusNotFound || !strings.Contains(body, "model_not_found") {
		t.Errorf("got %d %s", status, body)
	}
}
