// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/model/scripted"
)

func TestStrictModeRejectsInvalidRequests(t *testing.T) {
	const user = `{"role":"user","content":"hi"}`
	const call = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}}]}`
	const result = `{"role":"tool","tool_call_id":"a","content":"x"}`
	messages := func(m ...string) string { return `{"model":"m","messages":[` + strings.Join(m, ",") + `]}` }
	with := func(field string) string { return `{"model":"m","messages":[` + user + `],` + field + `}` }
	tool := func(function string) string { return with(`"tools":[{"type":"function","function":` + function + `}]`) }

	for name, tc := range map[string]struct{ body, wantMessage string }{
		"a tool message without a call":          {messages(user, result), "must be a response to a preceding message with 'tool_calls'"},
		"a tool message after a user message":    {messages(user, call, result, user, result), "must be a response"},
		"a tool message for another call":        {messages(user, call, strings.Replace(result, `"a"`, `"b"`, 1)), "'tool_call_id' of 'b' not found"},
		"a second answer to a call":              {messages(user, call, result, result), "'tool_call_id' of 'a' not found"},
		"a tool message without an id":           {messages(user, call, `{"role":"tool","content":"x"}`), "Missing parameter 'tool_call_id'"},
		"a tool message without content":         {messages(user, call, `{"role":"tool","tool_call_id":"a"}`), "expected a string, got null"},
		"a call without an answer":               {messages(user, call, user), "did not have response messages: a"},
		"a call without an answer at the end":    {messages(user, call), "did not have response messages: a"},
		"two calls with one id":                  {messages(user, strings.Replace(call, `}}]`, `}},{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}}]`, 1), result), "Duplicate value"},
		"a call without an id":                   {messages(user, strings.Replace(call, `"a"`, `""`, 1), result), ".id': empty string"},
		"a call without a type":                  {messages(user, strings.Replace(call, `"type":"function",`, ``, 1), result), "Supported values are: 'function'"},
		"a call with a bad name":                 {messages(user, strings.Replace(call, `"ls"`, `"l s"`, 1), result), "does not match the pattern"},
		"a call whose arguments are not JSON":    {messages(user, strings.Replace(call, `"{}"`, `"{"`, 1), result), "not JSON"},
		"calls in a user message":                {messages(strings.Replace(call, "assistant", "user", 1)), "expected a non-empty string"},
		"calls beside a user's content":          {messages(strings.Replace(strings.Replace(call, "assistant", "user", 1), "null", `"x"`, 1)), "only allowed in messages with role 'assistant'"},
		"an image that is none":                  {messages(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:text/plain;base64,eA=="}}]}`), "Invalid image_url"},
		"an image in a tool message":             {messages(user, call, `{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":{"url":"data:"}}]}`), "only allowed in messages with role 'user'"},
		"null content without calls":             {messages(user, `{"role":"assistant","content":null}`, user), "It may be null only with 'tool_calls'"},
		"an empty assistant message":             {messages(user, `{"role":"assistant","content":""}`, user), "got an empty one"},
		"an empty user message":                  {messages(`{"role":"user","content":""}`), "expected a non-empty string"},
		"a user message without content":         {messages(`{"role":"user"}`), "got null"},
		"content that is a number":               {messages(`{"role":"user","content":3}`), "content must be a string or a list of parts"},
		"an unknown role":                        {messages(`{"role":"robot","content":"x"}`), "Invalid value: 'robot'"},
		"an unknown field in a message":          {messages(`{"role":"user","content":"x","mood":"good"}`), "Unrecognized request argument supplied: mood"},
		"no messages":                            {`{"model":"m","messages":[]}`, "too short - 'messages'"},
		"no model":                               {`{"messages":[` + user + `]}`, "you must provide a model parameter"},
		"an unknown field":                       {with(`"mood":"good"`), "Unrecognized request argument supplied: mood"},
		"an unknown field in a tool":             {with(`"tools":[{"type":"function","readOnly":true,"function":{"name":"ls"}}]`), "Unrecognized request argument supplied: readOnly"},
		"an unknown field in a function":         {tool(`{"name":"ls","inputSchema":{}}`), "Unrecognized request argument supplied: inputSchema"},
		"a tool without a type":                  {with(`"tools":[{"function":{"name":"ls"}}]`), "Supported values are: 'function'"},
		"a tool with a bad name":                 {tool(`{"name":"fs.ls"}`), "does not match pattern"},
		"a tool with a long name":                {tool(`{"name":"` + strings.Repeat("x", 65) + `"}`), "does not match pattern"},
		"a tool without a name":                  {tool(`{}`), "does not match pattern"},
		"two tools with one name":                {with(`"tools":[{"type":"function","function":{"name":"ls"}},{"type":"function","function":{"name":"ls"}}]`), "must be unique"},
		"an empty list of tools":                 {with(`"tools":[]`), "too short - 'tools'"},
		"too many tools":                         {with(`"tools":[` + manyTools(129) + `]`), "array too long"},
		"parameters that are not an object":      {tool(`{"name":"ls","parameters":{"type":"string"}}`), `schema must be a JSON Schema of 'type: \"object\"'`},
		"parameters without a type":              {tool(`{"name":"ls","parameters":{"properties":{}}}`), "schema must be a JSON Schema"},
		"parameters that are a list":             {tool(`{"name":"ls","parameters":[]}`), "Invalid schema for function 'ls'"},
		"properties that are a list":             {tool(`{"name":"ls","parameters":{"type":"object","properties":[]}}`), "'properties' must be an object"},
		"a tool choice without tools":            {with(`"tool_choice":"auto"`), "only allowed when 'tools' are specified"},
		"stream options without a stream":        {with(`"stream_options":{"include_usage":true}`), "only allowed when 'stream' is enabled"},
		"two output limits":                      {with(`"max_tokens":1,"max_completion_tokens":1`), "at the same time"},
		"an output limit of nothing":             {with(`"max_tokens":0`), "less than the minimum of 1"},
		"an output limit of nothing, newer name": {with(`"max_completion_tokens":-1`), "less than the minimum of 1"},
		"a temperature beyond 2":                 {with(`"temperature":2.5`), "not between 0 and 2"},
		"text that is not JSON":                  {`{"model":`, "could not parse the JSON body"},
		"text after the JSON":                    {messages(user) + "x", "text after the object"},
	} {
		t.Run(name, func(t *testing.T) {
			_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, "fallback: {text: Hello.}")}})
			status, body := post(t, url+"/v1/chat/completions", tc.body)
			if status != http.StatusBadRequest || !strings.Contains(body, tc.wantMessage) || !strings.Contains(body, `"invalid_request_error"`) {
				t.Errorf("got %d %s, want 400 with %q", status, body, tc.wantMessage)
			}
		})
	}
	t.Run("accepted requests", func(t *testing.T) {
		_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, "fallback: {text: Hello.}")}})
		for _, body := range []string{
			messages(user, call, result, user),
			messages(`{"role":"developer","content":"x"}`, `{"role":"user","name":"alice","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}}]}`),
			messages(user, `{"role":"assistant","content":null,"refusal":"no"}`, user),
			tool(`{"name":"ls","description":"d","strict":true,"parameters":{"type":"object","properties":{},"additionalProperties":false}}`),
			with(`"tools":[{"type":"function","function":{"name":"ls"}}],"tool_choice":"none","n":1,"seed":3,"parallel_tool_calls":true`),
		} {
			if status, got := post(t, url+"/v1/chat/completions", body); status != http.StatusOK {
				t.Errorf("%s was refused: %s", body, got)
			}
		}
	})
	t.Run("lenient mode accepts it", func(t *testing.T) {
		_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, "fallback: {text: Hello.}")}, Lenient: true})
		if status, body := post(t, url+"/v1/chat/completions", messages(user, call, user)); status != http.StatusOK {
			t.Errorf("got %d %s", status, body)
		}
		if status, body := post(t, url+"/v1/chat/completions", `{"model":`); status != http.StatusBadRequest {
			t.Errorf("text that is not JSON: got %d %s", status, body)
		}
	})
}

func manyTools(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"type":"function","function":{"name":"t%d"}}`, i)
	}
	return b.String()
}
