// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model/scripted"
)

var anthropicHeaders = map[string]string{"Anthropic-Version": "2023-06-01"}

// thinkingSignature computes the signature that the server expects, independently of it.
func thinkingSignature(text string) string {
	sum := sha256.Sum256([]byte("scripted model|thinking|" + text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func TestAnthropicWireIsStrict(t *testing.T) {
	const user = `{"role":"user","content":"hi"}`
	const use = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{}}]}`
	const result = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`
	thought := `{"type":"thinking","thinking":"Hm.","signature":"` + thinkingSignature("Hm.") + `"}`
	thinkingUse := strings.Replace(use, `[{`, `[`+thought+`,{`, 1)
	request := func(fields string, m ...string) string {
		return `{"model":"m","max_tokens":2000,"messages":[` + strings.Join(m, ",") + `]` + fields + `}`
	}
	messages := func(m ...string) string { return request("", m...) }
	with := func(fields string) string { return request(","+fields, user) }
	content := func(blocks string) string { return messages(`{"role":"user","content":[` + blocks + `]}`) }
	source := func(s string) string { return content(`{"type":"image","source":` + s + `}`) }
	tool := func(t string) string { return with(`"tools":[` + t + `]`) }
	const cached = `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`

	testStrict(t, wireTest{"/v1/messages", anthropicHeaders, `"type":"invalid_request_error"`}, map[string]refusal{
		"no model":                         {`{"max_tokens":1,"messages":[` + user + `]}`, "model: Field required"},
		"no max_tokens":                    {`{"model":"m","messages":[` + user + `]}`, "max_tokens: Field required"},
		"max_tokens of nothing":            {`{"model":"m","max_tokens":0,"messages":[` + user + `]}`, "max_tokens: Input should be greater"},
		"no messages":                      {messages(), "at least one message is required"},
		"an unknown field":                 {with(`"mood":"good"`), "mood: Extra inputs are not permitted"},
		"an unknown field of a message":    {messages(`{"role":"user","content":"x","name":"alice"}`), "name: Extra inputs are not permitted"},
		"an unknown field of a block":      {content(`{"type":"text","text":"x","mood":1}`), "messages.0.content.0.text.mood: Extra inputs are not permitted"},
		"a field of another block":         {content(`{"type":"text","text":"x","signature":"y"}`), "text.signature: Extra inputs"},
		"an unknown field of a tool":       {tool(`{"name":"ls","input_schema":{"type":"object"},"parameters":{}}`), "parameters: Extra inputs"},
		"a block of no type":               {content(`{"text":"x"}`), "Input tag ''"},
		"an OpenAI image":                  {content(`{"type":"image_url","image_url":{"url":"x"}}`), "Input tag 'image_url'"},
		"a system message":                 {messages(`{"role":"system","content":"x"}`, user), `Unexpected role "system"`},
		"a tool message":                   {messages(user, `{"role":"tool","content":"x"}`), `Unexpected role "tool"`},
		"an assistant first":               {messages(`{"role":"assistant","content":"x"}`, user), `first message must use the "user" role`},
		"two user messages":                {messages(user, user), `multiple "user" roles in a row`},
		"two assistant messages":           {messages(user, `{"role":"assistant","content":"x"}`, `{"role":"assistant","content":"y"}`, user), `multiple "assistant" roles in a row`},
		"an assistant last":                {messages(user, `{"role":"assistant","content":"x"}`), "does not support assistant message prefill"},
		"an empty message":                 {messages(`{"role":"user","content":""}`), "must be non-empty"},
		"an empty list":                    {messages(`{"role":"user","content":[]}`), "must have non-empty content"},
		"no content":                       {messages(`{"role":"user"}`), "must have non-empty content"},
		"an empty text block":              {content(`{"type":"text","text":""}`), "text content blocks must be non-empty"},
		"white space":                      {content(`{"type":"text","text":" \n"}`), "must contain non-whitespace text"},
		"content that is a number":         {messages(`{"role":"user","content":3}`), "a string or a list of blocks"},
		"an empty system prompt":           {with(`"system":""`), "must be non-empty"},
		"an image in the system prompt":    {with(`"system":[{"type":"image"}]`), "Input should be 'text'"},
		"a cached empty block":             {with(`"system":[{"type":"text","text":"","cache_control":{"type":"ephemeral"}}]`), "cache_control cannot be set for empty text blocks"},
		"five cache controls":              {content(strings.Join([]string{cached, cached, cached, cached, cached}, ",")), "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		"five cache controls, anywhere":    {request(`,"system":[`+cached+`],"tools":[{"name":"ls","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]`, user, use, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","cache_control":{"type":"ephemeral"},"content":[`+cached+`]},`+cached+`]}`), "Found 5."},
		"another cache control":            {content(`{"type":"text","text":"x","cache_control":{"type":"persistent"}}`), "expected tags: 'ephemeral'"},
		"another time of caching":          {content(`{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1d"}}`), "'5m' or '1h'"},
		"a call of the user":               {messages(strings.Replace(use, "assistant", "user", 1)), "`tool_use` blocks can only be in `assistant` messages"},
		"a result of the assistant":        {messages(user, strings.Replace(result, "user", "assistant", 1), user), "`tool_result` blocks can only be in `user` messages"},
		"an image of the assistant":        {messages(user, `{"role":"assistant","content":[{"type":"image"}]}`, user), "`image` blocks can only be in `user` messages"},
		"a call without a result":          {messages(user, use, user), "`tool_use` ids were found without `tool_result` blocks immediately after: a"},
		"a result after text":              {messages(user, use, `{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"a","content":"x"}]}`), "without `tool_result` blocks immediately after: a"},
		"a result of no call":              {messages(user, `{"role":"assistant","content":"x"}`, result), "unexpected `tool_use_id` found in `tool_result` blocks: a"},
		"a result first":                   {messages(result), "unexpected `tool_use_id`"},
		"two results of a call":            {messages(user, use, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"a"}]}`), "Found multiple `tool_result` blocks with id: a"},
		"a result without an id":           {messages(user, use, `{"role":"user","content":[{"type":"tool_result"}]}`), "tool_use_id: Field required"},
		"a tool call in a result":          {messages(user, use, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_use"}]}]}`), "Input tag 'tool_use'"},
		"two calls with one id":            {messages(user, `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{}},{"type":"tool_use","id":"a","name":"ls","input":{}}]}`, result), "ids must be unique"},
		"an id that was used before":       {messages(user, use, result, use, result), "ids must be unique"},
		"an id of other characters":        {messages(user, strings.Replace(use, `"a"`, `"a.b"`, 1), result), "tool_use.id: String should match pattern"},
		"arguments as a string":            {messages(user, strings.Replace(use, `{}`, `"{}"`, 1), result), "tool_use.input: Input should be a valid dictionary"},
		"no arguments":                     {messages(user, strings.Replace(use, `,"input":{}`, ``, 1), result), "tool_use.input: Field required"},
		"a call without a name":            {messages(user, strings.Replace(use, `"ls"`, `""`, 1), result), "tool_use.name"},
		"an image without a source":        {content(`{"type":"image"}`), "image.source: Field required"},
		"an image of another type":         {source(`{"type":"base64","media_type":"image/svg+xml","data":"eA=="}`), "media_type: Input should be"},
		"an image that is not base64":      {source(`{"type":"base64","media_type":"image/png","data":"!"}`), "invalid base64 data"},
		"an empty image":                   {source(`{"type":"base64","media_type":"image/png","data":""}`), "image cannot be empty"},
		"an image that is none":            {source(`{"type":"base64","media_type":"image/png","data":"eA=="}`), "Could not process image"},
		"an image with the wrong type":     {source(`{"type":"base64","media_type":"image/jpeg","data":"` + pixel + `"}`), "appears to be a image/png image"},
		"an image at an http address":      {source(`{"type":"url","url":"http://example.com/x.png"}`), "Only HTTPS URLs"},
		"an image in a result that's none": {messages(user, use, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"eA=="}}]}]}`), "Could not process image"},
		"a tool with a bad name":           {tool(`{"name":"fs.ls","input_schema":{"type":"object"}}`), "name: String should match pattern"},
		"two tools with one name":          {tool(`{"name":"ls","input_schema":{"type":"object"}},{"name":"ls","input_schema":{"type":"object"}}`), "Tool names must be unique"},
		"a tool without a schema":          {tool(`{"name":"ls"}`), "input_schema: Field required"},
		"a schema of another type":         {tool(`{"name":"ls","input_schema":{"type":"string"}}`), "input_schema.type: Input should be 'object'"},
		"a schema without a type":          {tool(`{"name":"ls","input_schema":{}}`), "input_schema.type: Field required"},
		"a schema that is a list":          {tool(`{"name":"ls","input_schema":[]}`), "Input should be a valid dictionary"},
		"a schema with anyOf":              {tool(`{"name":"ls","input_schema":{"type":"object","anyOf":[]}}`), "does not support oneOf, allOf, or anyOf at the top level"},
		"properties that are a list":       {tool(`{"name":"ls","input_schema":{"type":"object","properties":[]}}`), "JSON schema is invalid"},
		"an OpenAI tool":                   {tool(`{"type":"function","name":"ls","input_schema":{"type":"object"}}`), "Input tag 'function'"},
		"a tool choice without tools":      {with(`"tool_choice":{"type":"auto"}`), "only be specified while providing tools"},
		"an unknown tool choice":           {with(`"tools":[{"name":"ls","input_schema":{"type":"object"}}],"tool_choice":{"type":"required"}`), "Input tag 'required'"},
		"a choice of no tool":              {with(`"tools":[{"name":"ls","input_schema":{"type":"object"}}],"tool_choice":{"type":"tool","name":"rm"}`), "Tool 'rm' not found"},
		"a temperature beyond 1":           {with(`"temperature":1.5`), "temperature: range: 0..1"},
		"an unknown effort":                {with(`"output_config":{"effort":"extreme"}`), "output_config.effort"},
		"thinking of no type":              {with(`"thinking":{"type":"auto"}`), "Input tag 'auto'"},
		"thinking without a budget":        {with(`"thinking":{"type":"enabled"}`), "budget_tokens: Field required"},
		"thinking with a small budget":     {with(`"thinking":{"type":"enabled","budget_tokens":100}`), "greater than or equal to 1024"},
		"thinking beyond max_tokens":       {with(`"thinking":{"type":"enabled","budget_tokens":2000}`), "`max_tokens` must be greater than `thinking.budget_tokens`"},
		"adaptive thinking with a budget":  {with(`"thinking":{"type":"adaptive","budget_tokens":2000}`), "budget_tokens: Extra inputs"},
		"thinking at a temperature":        {with(`"thinking":{"type":"adaptive"},"temperature":0.5`), "`temperature` may only be set to 1"},
		"thinking and a forced tool":       {with(`"thinking":{"type":"adaptive"},"tools":[{"name":"ls","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"}`), "Thinking may not be enabled"},
		"a loop without its thinking":      {request(`,"thinking":{"type":"adaptive"}`, user, use, result), "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`"},
		"a longer loop without it":         {request(`,"thinking":{"type":"adaptive"}`, user, use, result, strings.ReplaceAll(thinkingUse, `"a"`, `"b"`), strings.ReplaceAll(result, `"a"`, `"b"`)), "messages.1.content.0.type: Expected `thinking`"},
		"thinking that was changed":        {messages(user, strings.Replace(thinkingUse, "Hm.", "Ha.", 1), result), "messages.1.content.0: Invalid `signature` in `thinking` block"},
		"thinking without a signature":     {messages(user, `{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"x"}]}`, user), "Invalid `signature`"},
		"redacted thinking that is none":   {messages(user, `{"role":"assistant","content":[{"type":"redacted_thinking","data":"!"},{"type":"text","text":"x"}]}`, user), "Invalid `data`"},
		"thinking of the user":             {content(thought), "`thinking` blocks can only be in `assistant` messages"},
		"text that is not JSON":            {`{"model":`, "not valid JSON"},
		"text after the JSON":              {messages(user) + "x", "text after the object"},
	}, map[string]string{
		"a tool loop":           request(`,"thinking":{"type":"enabled","budget_tokens":1024}`, user, thinkingUse, result, strings.ReplaceAll(use, `"a"`, `"b"`), strings.ReplaceAll(result, `"a"`, `"b"`)),
		"no thinking in a loop": messages(user, use, result),
		"thinking of old turns": request(`,"thinking":{"type":"adaptive","display":"summarized"}`, user, use, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true},{"type":"text","text":"x"}]}`, `{"role":"assistant","content":"x"}`, user),
		"images":                messages(user, use, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+pixel+`"}}]},{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"`+gif+`"}}]}`),
		"four cache controls":   request(`,"system":[`+cached+`],"tools":[{"type":"custom","name":"ls","description":"d","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral","ttl":"1h"}}]`, `{"role":"user","content":[`+cached+`,`+cached+`]}`),
		"other fields":          with(`"system":"x","metadata":{"user_id":"x"},"stop_sequences":["x"],"top_k":1,"temperature":1,"output_config":{"effort":"low"}`),
	})
}

func TestAnthropicHeaders(t *testing.T) {
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, "fallback: {text: Hello.}")}, APIKey: "secret"})
	const hello = `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}`
	for name, tc := range map[string]struct {
		headers     map[string]string
		status      int
		wantMessage string
	}{
		"no key":          {anthropicHeaders, http.StatusUnauthorized, `"authentication_error"`},
		"a bearer token":  {map[string]string{"Anthropic-Version": "2023-06-01", "Authorization": "Bearer secret"}, http.StatusUnauthorized, "x-api-key header is required"},
		"a wrong key":     {map[string]string{"Anthropic-Version": "2023-06-01", "X-Api-Key": "other"}, http.StatusUnauthorized, "invalid x-api-key"},
		"no version":      {map[string]string{"X-Api-Key": "secret"}, http.StatusBadRequest, "anthropic-version: header is required"},
		"another version": {map[string]string{"X-Api-Key": "secret", "Anthropic-Version": "2030-01-01"}, http.StatusBadRequest, "not a valid version"},
		"all":             {map[string]string{"X-Api-Key": "secret", "Anthropic-Version": "2023-06-01"}, http.StatusOK, "Hello."},
	} {
		if status, _, body := call(t, url+"/v1/messages", hello, tc.headers); status != tc.status || !strings.Contains(body, tc.wantMessage) {
			t.Errorf("%s: got %d %s, want %d with %q", name, status, body, tc.status, tc.wantMessage)
		}
	}
}

// anthropicEvents parses a stream into "name data" lines and checks that the names agree with the types.
func anthropicEvents(t *testing.T, stream string) []string {
	t.Helper()
	var events []string
	for event := range strings.SplitSeq(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(strings.TrimPrefix(event, "event: "), "\ndata: ")
		var typed struct{ Type string }
		if err := json.Unmarshal([]byte(data), &typed); !ok || err != nil || typed.Type != name {
			t.Fatalf("bad event %q: %v", event, err)
		}
		events = append(events, data)
	}
	return events
}

func TestAnthropicStream(t *testing.T) {
	script := parse(t, `
fallback:
  reasoning: Let me look.
  text: I look.
  chunkSize: 4
  toolCalls: [{name: ls, arguments: {path: "."}}]
  usage: {promptTokens: 30, cachedTokens: 10, cacheWriteTokens: 5, completionTokens: 12}
`)
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{script}})
	const request = `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}`
	status, headers, body := call(t, url+"/v1/messages", request, anthropicHeaders)
	if status != http.StatusOK || headers.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v: %s", status, headers, body)
	}
	var id string
	events := anthropicEvents(t, body)
	if _, err := fmt.Sscanf(events[0], `{"message":{"content":[],"id":"msg_%13s`, &id); err != nil {
		t.Fatal(err)
	}
	id = strings.TrimSuffix(id, `"`)
	delta := func(index int, kind, field, value string) string {
		return fmt.Sprintf(`{"delta":{%s},"index":%d,"type":"content_block_delta"}`, sorted(field, value, "type", kind), index)
	}
	usage := `{"cache_creation_input_tokens":5,"cache_read_input_tokens":10,"input_tokens":15,"output_tokens":%d,"output_tokens_details":{"thinking_tokens":0},"service_tier":"standard"}`
	want := []string{
		`{"message":{"content":[],"id":"msg_` + id + `","model":"m","role":"assistant","stop_reason":null,"stop_sequence":null,"type":"message","usage":` + fmt.Sprintf(usage, 1) + `},"type":"message_start"}`,
		`{"content_block":{"signature":"","thinking":"","type":"thinking"},"index":0,"type":"content_block_start"}`,
		`{"type":"ping"}`,
		delta(0, "thinking_delta", "thinking", "Let "), delta(0, "thinking_delta", "thinking", "me l"), delta(0, "thinking_delta", "thinking", "ook."),
		delta(0, "signature_delta", "signature", thinkingSignature("Let me look.")),
		`{"index":0,"type":"content_block_stop"}`,
		`{"content_block":{"text":"","type":"text"},"index":1,"type":"content_block_start"}`,
		delta(1, "text_delta", "text", "I lo"), delta(1, "text_delta", "text", "ok."),
		`{"index":1,"type":"content_block_stop"}`,
		`{"content_block":{"id":"toolu_` + id + `_1","input":{},"name":"ls","type":"tool_use"},"index":2,"type":"content_block_start"}`,
		delta(2, "input_json_delta", "partial_json", ""),
		delta(2, "input_json_delta", "partial_json", `{"pa`), delta(2, "input_json_delta", "partial_json", `th":`), delta(2, "input_json_delta", "partial_json", `"."}`),
		`{"index":2,"type":"content_block_stop"}`,
		`{"delta":{"stop_reason":"tool_use","stop_sequence":null},"type":"message_delta","usage":` + fmt.Sprintf(usage, 12) + `}`,
		`{"type":"message_stop"}`,
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if _, _, again := call(t, url+"/v1/messages", request, anthropicHeaders); again != body {
		t.Error("the same request got other bytes")
	}

	_, _, plain := call(t, url+"/v1/messages", strings.Replace(request, `"stream":true,`, "", 1), anthropicHeaders)
	wantPlain := `{"content":[{"signature":"` + thinkingSignature("Let me look.") + `","thinking":"Let me look.","type":"thinking"},{"text":"I look.","type":"text"},` +
		`{"id":"toolu_` + id + `_1","input":{"path":"."},"name":"ls","type":"tool_use"}],"id":"msg_` + id + `","model":"m","role":"assistant","stop_reason":"tool_use","stop_sequence":null,"type":"message","usage":` + fmt.Sprintf(usage, 12) + "}\n"
	if diff := cmp.Diff(wantPlain, plain); diff != "" {
		t.Errorf("plain (-want +got):\n%s", diff)
	}
}

// sorted returns two fields of an object in the order of their names.
func sorted(a, valueA, b, valueB string) string {
	if a > b {
		a, valueA, b, valueB = b, valueB, a, valueA
	}
	return quote(a) + ":" + quote(valueA) + "," + quote(b) + ":" + quote(valueB)
}
