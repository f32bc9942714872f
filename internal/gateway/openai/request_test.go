// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func decodeCompletion(body string) (completionRequest, error) {
	var in completionRequest
	err := decodeBody(httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)), &in, refusedInCompletions)
	return in, err
}

func TestDecodeBodyRefuses(t *testing.T) {
	for body, param := range map[string]string{
		``: "", `[]`: "", `"text"`: "", `{"model":`: "", `{"model":1}`: "", `{"messages":[{"content":1}]}`: "",
		`{"messages":[{"content":[{"type":"input_audio"}]}]}`:                                               "",
		`{"messages":[{"content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]}`: "",
		`{"messages":[{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,?"}}]}]}`:   "",
		`{"n":2}`: "n", `{"logprobs":true}`: "logprobs", `{"top_logprobs":1}`: "top_logprobs", `{"tools":[{"type":"function"}]}`: "tools",
		`{"tool_choice":"required"}`: "tool_choice", `{"stop":["a"]}`: "stop",
		`{"modalities":["text","audio"]}`: "modalities", `{"logit_bias":{"1":2}}`: "logit_bias", `{"stop":"1"}`: "stop",
	} {
		if _, err := decodeCompletion(body); err == nil || paramOf(err) != param {
			t.Errorf("%s: parameter %q of %v, want %q", body, paramOf(err), err, param)
		}
	}
}

func TestDecodeBodyAccepts(t *testing.T) {
	for _, body := range []string{
		`{}`, `{"n":1}`, `{"n":null}`, `{"logprobs":false}`, `{"top_logprobs":0}`, `{"tools":[]}`, `{"tool_choice":"none"}`, `{"tool_choice":"auto"}`,
		`{"stop":null}`, `{"modalities":["text"]}`, `{"temperature":0.5,"seed":1,"unknown":{"a":[]}}`,
	} {
		if _, err := decodeCompletion(body); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestDecodeBodyReadsContent(t *testing.T) {
	in, err := decodeCompletion(`{"model":"a/b","messages":[{"role":"system","content":"s"},{"role":"assistant","content":null},
		{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AQI="}}]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if in.Model != "a/b" || in.Messages[0].Content.text != "s" || in.Messages[1].Content.text != "" || in.Messages[2].Content.text != "a\nb" {
		t.Errorf("%+v", in)
	}
	images := in.Messages[2].Content.images
	if len(images) != 1 || images[0].Name != "image-1.png" || images[0].MediaType != "image/png" || string(images[0].Data) != "\x01\x02" {
		t.Errorf("images: %+v", images)
	}
}

// TestDecodeBodyTooLarge checks that the limit stays recognisable: it has a status of its own.
func TestDecodeBodyTooLarge(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"model":"`+strings.Repeat("a", 100)+`"}`))
	r.Body = http.MaxBytesReader(w, r.Body, 50)
	err := decodeBody(r, &completionRequest{}, nil)
	var tooLarge *http.MaxBytesError
	if !errors.As(err, &tooLarge) {
		t.Errorf("%v", err)
	}
	if code, _ := describe(err); code != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", code)
	}
}

func TestParseModel(t *testing.T) {
	if got, err := parseModel("team-a/reviewer"); err != nil || got != (target{"team-a", "reviewer"}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, name := range []string{"", "/", "a", "a/", "/b", "a/b/c", "A/b", "a/b_c", "../b", strings.Repeat("a", 64) + "/b"} {
		if got, err := parseModel(name); paramOf(err) != "model" {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
}

func TestParseObject(t *testing.T) {
	for text, want := range map[string][2]string{"x": {"team-a", "x"}, "team-b/x": {"team-b", "x"}} {
		if namespace, name, err := parseObject("p", text, "team-a"); err != nil || namespace != want[0] || name != want[1] {
			t.Errorf("%q: %s/%s, %v", text, namespace, name, err)
		}
	}
	for _, text := range []string{"", "/x", "a/", "a/b/c", "X"} {
		if _, _, err := parseObject("p", text, "team-a"); paramOf(err) != "p" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSchemaOfFormat(t *testing.T) {
	const object = `{"type":"object","properties":{"a":{"type":"string"}}}`
	for _, tc := range []struct{ format, want, problem string }{
		{`{}`, "", ""},
		{`{"type":"text"}`, "", ""},
		{`{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":` + object + `}}`, object, ""},
		{`{"type":"json_schema","name":"n","schema":` + object + `}`, object, ""},
		{`{"type":"json_schema"}`, "", "a schema of the type object"},
		{`{"type":"json_schema","schema":[]}`, "", "a schema of the type object"},
		{`{"type":"json_schema","schema":{"type":"array"}}`, "", "a schema of the type object"},
		{`{"type":"json_schema","schema":{"type":"object","$ref":"https://example.com/s.json"}}`, "", "only references within the schema"},
		{`{"type":"json_schema","schema":{"type":"object","anyOf":[` + strings.Repeat(`{},`, 4999) + `{}]}}`, "", "the schema is too complex"},
		{`{"type":"json_object"}`, "", "use json_schema"},
		{`{"type":"grammar"}`, "", "use json_schema"},
	} {
		var f format
		if err := json.Unmarshal([]byte(tc.format), &f); err != nil {
			t.Fatal(err)
		}
		schema, err := f.schema("response_format")
		if string(schema) != tc.want || (err == nil) != (tc.problem == "") || err != nil && (!strings.Contains(err.Error(), tc.problem) || paramOf(err) != "response_format") {
			t.Errorf("%s: %s (%v), want %q", tc.format, schema, err, tc.want)
		}
	}
}
