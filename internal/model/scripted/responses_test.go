// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model/scripted"
)

// reasoned returns the output of a reply with reasoning and a call, as the server writes it.
func reasoned(t *testing.T, url string) (reasoning, functionCall string) {
	t.Helper()
	_, _, body := call(t, url+"/v1/responses", `{"model":"m","store":false,"include":["reasoning.encrypted_content"],"input":"think"}`, nil)
	var reply struct{ Output []json.RawMessage }
	if err := json.Unmarshal([]byte(body), &reply); err != nil || len(reply.Output) != 2 {
		t.Fatalf("%v: %s", err, body)
	}
	return string(reply.Output[0]), string(reply.Output[1])
}

const thinkingScript = `
rules: [{match: {lastMessage: think}, reply: {reasoning: Let me think., toolCalls: [{id: a, name: ls}]}}]
fallback: {text: Hello.}
`

func TestResponsesWireIsStrict(t *testing.T) {
	const user = `{"role":"user","content":"hi"}`
	const use = `{"type":"function_call","call_id":"a","name":"ls","arguments":"{}"}`
	const result = `{"type":"function_call_output","call_id":"a","output":"x"}`
	input := func(items ...string) string { return `{"model":"m","input":[` + strings.Join(items, ",") + `]}` }
	with := func(fields string) string { return `{"model":"m","input":"hi",` + fields + `}` }
	tool := func(t string) string { return with(`"tools":[` + t + `]`) }
	image := func(url string) string {
		return input(`{"role":"user","content":[{"type":"input_image","image_url":"` + url + `"}]}`)
	}
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, thinkingScript)}})
	reasoning, reasonedCall := reasoned(t, url)

	testStrict(t, wireTest{"/v1/responses", nil, `"type":"invalid_request_error"`}, map[string]refusal{
		"no model":                         {`{"input":"hi"}`, "Missing required parameter: 'model'"},
		"no input":                         {`{"model":"m"}`, "Missing required parameter: 'input'"},
		"an empty input":                   {input(), "Invalid 'input': empty array"},
		"an unknown field":                 {with(`"mood":"good"`), "Unknown parameter: 'mood'."},
		"messages of chat completions":     {`{"model":"m","messages":[` + user + `]}`, "Unknown parameter: 'messages'."},
		"an unknown field of an item":      {input(`{"role":"user","content":"x","mood":1}`), "Unknown parameter: 'input[0].mood'."},
		"a field of another item":          {input(user, strings.Replace(use, `"call_id"`, `"output":"x","call_id"`, 1), result), "Unknown parameter: 'input[1].output'."},
		"an unknown field of a part":       {input(`{"role":"user","content":[{"type":"input_text","text":"x","mood":1}]}`), "Unknown parameter: 'input[0].content[0].mood'."},
		"an unknown field of a tool":       {tool(`{"type":"function","name":"ls","parameters":{"type":"object"},"input_schema":{}}`), "Unknown parameter: 'input_schema'."},
		"an item of another type":          {input(`{"type":"tool_call"}`), "Invalid value: 'tool_call'"},
		"an item of no type":               {input(`{"content":"x"}`), "Invalid value: ''"},
		"a tool message":                   {input(user, use, `{"role":"tool","tool_call_id":"a","content":"x"}`), "Unknown parameter: 'input[2].tool_call_id'."},
		"another role":                     {input(`{"role":"robot","content":"x"}`), "Invalid value: 'robot'"},
		"no content":                       {input(`{"role":"user"}`), "Missing required parameter: 'input[0].content'"},
		"empty content":                    {input(`{"role":"user","content":""}`), "expected a non-empty value"},
		"an empty list of parts":           {input(`{"role":"user","content":[]}`), "expected a non-empty value"},
		"content that is a number":         {input(`{"role":"user","content":3}`), "a string or a list of parts"},
		"output text of the user":          {input(`{"role":"user","content":[{"type":"output_text","text":"x"}]}`), "Invalid value: 'output_text'"},
		"input text of the model":          {input(user, `{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`, user), "Supported values are: 'output_text', 'refusal'"},
		"a part of chat completions":       {input(`{"role":"user","content":[{"type":"text","text":"x"}]}`), "Invalid value: 'text'"},
		"an image of another type":         {image("data:text/plain;base64,eA=="), "unsupported MIME type 'text/plain'"},
		"an image that is none":            {image("data:image/png;base64,eA=="), "does not represent a valid image"},
		"an image with the wrong type":     {image("data:image/jpeg;base64," + pixel), "does not represent a valid image"},
		"an image at an http address":      {image("http://example.com/x.png"), "Expected a base64-encoded data URL"},
		"an image of a result that's none": {input(user, use, `{"type":"function_call_output","call_id":"a","output":[{"type":"input_image","image_url":"data:image/png;base64,eA=="}]}`), "does not represent a valid image"},
		"a call without a result":          {input(user, use), "No tool output found for function call a."},
		"a result without a call":          {input(user, result), "No tool call found for function call output with call_id a."},
		"a result before its call":         {input(user, result, use), "No tool call found"},
		"two results of a call":            {input(user, use, result, result), "Duplicate function call output with call_id a."},
		"two calls with one id":            {input(user, use, use, result), "Duplicate function call with call_id a."},
		"a call without an id":             {input(user, strings.Replace(use, `"call_id":"a",`, ``, 1)), "Missing required parameter: 'input[1].call_id'"},
		"a call with a long id":            {input(user, strings.Replace(use, `"a"`, `"`+strings.Repeat("a", 65)+`"`, 1)), "maximum length 64"},
		"a call with a bad name":           {input(user, strings.Replace(use, `"ls"`, `"fs.ls"`, 1), result), "Invalid 'input[1].name'"},
		"a call without arguments":         {input(user, strings.Replace(use, `,"arguments":"{}"`, ``, 1), result), "Missing required parameter: 'input[1].arguments'"},
		"arguments that are not JSON":      {input(user, strings.Replace(use, `"{}"`, `"{"`, 1), result), "not JSON"},
		"arguments as an object":           {input(user, strings.Replace(use, `"{}"`, `{}`, 1), result), "cannot unmarshal object"},
		"a result without output":          {input(user, use, `{"type":"function_call_output","call_id":"a"}`), "Missing required parameter: 'input[2].output'"},
		"an id of another item":            {input(user, strings.Replace(use, `"call_id"`, `"id":"call_1","call_id"`, 1), result), "Expected an ID that begins with 'fc'."},
		"reasoning without an id":          {input(user, `{"type":"reasoning","summary":[]}`, use, result), "Missing required parameter: 'input[1].id'"},
		"reasoning without a summary":      {input(user, `{"type":"reasoning","id":"rs_1"}`, use, result), "Missing required parameter: 'input[1].summary'"},
		"foreign reasoning":                {input(user, `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}`, use, result), "could not be verified"},
		"reasoning under another id":       {input(user, strings.Replace(reasoning, `"rs_`, `"rs_1`, 1), use, result), "could not be verified"},
		"reasoning alone":                  {input(user, reasoning, user), "was provided without its required following item"},
		"reasoning at the end":             {input(user, reasoning), "was provided without its required following item"},
		"a call without its reasoning":     {input(user, reasonedCall, result), "was provided without its required 'reasoning' item: 'rs_"},
		"an unknown include":               {with(`"include":["reasoning"]`), "Invalid value: 'reasoning'"},
		"an unknown effort":                {with(`"reasoning":{"effort":"extreme"}`), "Invalid value: 'extreme'"},
		"an unknown summary":               {with(`"reasoning":{"summary":"long"}`), "Invalid value: 'long'"},
		"a small output limit":             {with(`"max_output_tokens":15`), "Expected a value >= 16, but got 15"},
		"a temperature beyond 2":           {with(`"temperature":2.5`), "not between 0 and 2"},
		"a previous response":              {with(`"previous_response_id":"resp_1"`), "Previous response with id 'resp_1' not found."},
		"a tool choice without tools":      {with(`"tool_choice":"required"`), "requires 'tools'"},
		"a tool without a type":            {tool(`{"name":"ls","parameters":{"type":"object"}}`), "Missing required parameter: 'tools[0].type'"},
		"a tool of chat completions":       {tool(`{"type":"function","function":{"name":"ls"}}`), "Unknown parameter: 'function'."},
		"a tool without a name":            {tool(`{"type":"function","parameters":{"type":"object"}}`), "Missing required parameter: 'tools[0].name'"},
		"a tool with a bad name":           {tool(`{"type":"function","name":"fs.ls","parameters":{"type":"object"}}`), "does not match pattern"},
		"two tools with one name":          {tool(`{"type":"function","name":"ls","parameters":{"type":"object"}},{"type":"function","name":"ls","parameters":{"type":"object"}}`), "must be unique"},
		"a tool without parameters":        {tool(`{"type":"function","name":"ls"}`), "Missing required parameter: 'tools[0].parameters'"},
		"parameters of another type":       {tool(`{"type":"function","name":"ls","parameters":{"type":"string"}}`), "schema must be a JSON Schema"},
		"a strict schema that is open":     {tool(`{"type":"function","name":"ls","strict":true,"parameters":{"type":"object"}}`), "'additionalProperties' is required to be supplied and to be false"},
		"a strict schema with an option":   {tool(`{"type":"function","name":"ls","strict":true,"parameters":{"type":"object","additionalProperties":false,"properties":{"a":{}}}}`), "Missing 'a'"},
		"too many tools":                   {tool(strings.Repeat(`{},`, 128) + `{}`), "array too long"},
		"text that is not JSON":            {`{"model":`, "could not parse the JSON body"},
		"text after the JSON":              {input(user) + "x", "text after the object"},
	}, map[string]string{
		"a text":            with(`"instructions":"x","store":false,"metadata":{},"parallel_tool_calls":true,"max_output_tokens":16`),
		"a tool loop":       input(user, use, result, `{"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"x","annotations":[]}]}`, user),
		"a reasoned loop":   input(user, reasoning, reasonedCall, result),
		"a call without id": input(user, use, result),
		"parallel calls":    input(user, use, strings.Replace(use, `"a"`, `"b"`, 1), strings.Replace(result, `"a"`, `"b"`, 1), result),
		"images":            input(user, use, `{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"x"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,`+pixel+`"}]}`, `{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/x.png"}]}`),
		"a refusal":         input(user, `{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`, user),
		"a strict schema":   tool(`{"type":"function","name":"ls","strict":true,"description":"d","parameters":{"type":"object","additionalProperties":false,"properties":{"a":{}},"required":["a"]}}`),
		"reasoning options": with(`"reasoning":{"effort":"low","summary":"auto"},"include":["reasoning.encrypted_content"]`),
	})

	// Items are not stored, so reasoning cannot be referenced by its ID.
	var item map[string]any
	if err := json.Unmarshal([]byte(reasoning), &item); err != nil {
		t.Fatal(err)
	}
	delete(item, "encrypted_content")
	status, _, body := call(t, url+"/v1/responses", input(user, mustJSON(t, item), reasonedCall, result), nil)
	if status != http.StatusNotFound || !strings.Contains(body, "Items are not persisted") {
		t.Errorf("reasoning without its content: %d %s", status, body)
	}
}

// sseEvents parses a stream into the data of its events and checks that the names agree with the types.
func sseEvents(t *testing.T, stream string) []map[string]any {
	t.Helper()
	var events []map[string]any
	for event := range strings.SplitSeq(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(strings.TrimPrefix(event, "event: "), "\ndata: ")
		var fields map[string]any
		if err := json.Unmarshal([]byte(data), &fields); !ok || err != nil || fields["type"] != name {
			t.Fatalf("bad event %q: %v", event, err)
		}
		if n := fields["sequence_number"]; n != nil && n != float64(len(events)) {
			t.Errorf("event %d has the number %v", len(events), n)
		}
		events = append(events, fields)
	}
	return events
}

func TestResponsesStream(t *testing.T) {
	script := parse(t, `
fallback:
  reasoning: Let me look.
  text: I look.
  chunkSize: 6
  toolCalls: [{name: ls, arguments: {path: "."}}]
  usage: {promptTokens: 30, cachedTokens: 10, completionTokens: 12, reasoningTokens: 4}
`)
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{script}})
	const request = `{"model":"m","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":"hi"}`
	_, headers, body := call(t, url+"/v1/responses", request, nil)
	if headers.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v: %s", headers, body)
	}
	events := sseEvents(t, body)
	var got []string
	text := map[string]string{}
	for _, e := range events {
		name, _ := e["type"].(string)
		got = append(got, strings.TrimPrefix(name, "response."))
		if delta, ok := e["delta"].(string); ok {
			text[name] += delta
		}
	}
	want := []string{
		"created", "in_progress",
		"output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta", "reasoning_summary_text.delta", "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
		"output_item.added", "content_part.added", "output_text.delta", "output_text.delta", "output_text.done", "content_part.done", "output_item.done",
		"output_item.added", "function_call_arguments.delta", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done",
		"completed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	wantText := map[string]string{
		"response.reasoning_summary_text.delta": "Let me look.", "response.output_text.delta": "I look.", "response.function_call_arguments.delta": `{"path":"."}`,
	}
	if diff := cmp.Diff(wantText, text); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
	if _, _, again := call(t, url+"/v1/responses", request, nil); again != body {
		t.Error("the same request got other bytes")
	}

	_, _, plain := call(t, url+"/v1/responses", strings.Replace(request, `"stream":true,`, "", 1), nil)
	var whole map[string]any
	if err := json.Unmarshal([]byte(plain), &whole); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, events[len(events)-1]["response"]); diff != "" {
		t.Errorf("the plain reply and the last event differ:\n%s", diff)
	}
	wantUsage := map[string]any{
		"input_tokens": 30.0, "input_tokens_details": map[string]any{"cached_tokens": 10.0}, "output_tokens": 12.0,
		"output_tokens_details": map[string]any{"reasoning_tokens": 4.0}, "total_tokens": 42.0,
	}
	if diff := cmp.Diff(wantUsage, whole["usage"]); diff != "" || whole["status"] != "completed" {
		t.Errorf("status %v, usage (-want +got):\n%s", whole["status"], diff)
	}
}
