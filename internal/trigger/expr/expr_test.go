// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

func request() Input {
	return Input{
		Trigger: map[string]any{"name": "t", "namespace": "a", "id": "w1", "time": time.Date(2026, 11, 16, 7, 0, 0, 0, time.UTC)},
		Body: map[string]any{"number": int64(7), "ratio": 0.5, "title": "Fix <it>", "labels": []any{"bug", "big"}, "none": nil,
			"head": map[string]any{"sha": "abc"}},
		Headers: map[string]string{"x-github-event": "pull_request"},
	}
}

func compiled(t *testing.T, text string) *Program {
	t.Helper()
	p, err := Compile(Webhook, "spec.webhook.when", text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

func TestExpressionsReadTheRequest(t *testing.T) {
	for text, want := range map[string]any{
		"body.number == 7":                            true,
		"body.number == 7.0":                          true,
		"body.number in [7]":                          true,
		"headers['x-github-event'] == 'pull_request'": true,
		"has(body.head.sha)":                          true,
		"body.?head.?ref.orValue('main')":             "main",
		"body.labels.join('+')":                       "bug+big",
		"body.title.lowerAscii().upperAscii().trim()": "FIX <IT>",
		"body.title.replace('it', 'that')":            "Fix <that>",
		"'a,b'.split(',')[1]":                         "b",
		"'äöü'.substring(1, 9)":                       "öü",
		"trigger.time.getFullYear()":                  int64(2026),
		"trigger.time":                                "2026-11-16T07:00:00Z",
		"{'a': [1, 2.5, null]}":                       map[string]any{"a": []any{int64(1), 2.5, nil}},
		"body.none":                                   nil,
		"duration('90s')":                             "1m30s",
		"b'hi'":                                       "aGk=",
		"optional.none()":                             nil,
	} {
		p := compiled(t, text)
		got, err := p.Value(t.Context(), request())
		if err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
			t.Errorf("%s: %#v (%v), want %#v", text, got, err, want)
		}
	}
}

func TestCompileErrorHasPlace(t *testing.T) {
	for _, c := range []struct {
		source     Source
		text, want string
	}{
		{Webhook, "body.a ==\n bodi.b", "spec.when: line 2, column 2: undeclared reference to 'bodi'"},
		{Schedule, "body.a", "spec.when: line 1, column 1: undeclared reference to 'body'"},
		{Watch, "headers.a", "undeclared reference to 'headers'"},
		{Webhook, "object.a", "undeclared reference to 'object'"},
		{Webhook, "1 +", "spec.when: line 1, column 4: Syntax error"},
		{Webhook, "1 + 'a'", "found no matching overload"},
		{Webhook, strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200), "recursion"},
	} {
		_, err := Compile(c.source, "spec.when", c.text)
		var located *Error
		if !errors.As(err, &located) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %q", c.source, c.text, err, c.want)
		}
	}
}

func TestEvaluationErrorsAreErrors(t *testing.T) {
	for text, want := range map[string]string{
		"body.missing.field": "no such key: missing",
		"1 / 0 == 1":         "division by zero",
		"'text'":             "the result is of type string, not bool",
		"body":               "the result is of type map, not bool",
	} {
		p := compiled(t, text)
		if _, err := p.Bool(t.Context(), request()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestExpressionsAreBounded evaluates expressions that would exhaust the operator's memory or time.
func TestExpressionsAreBounded(t *testing.T) {
	repeat := func(begin string, times int) string { // eight times as long each time
		for range times {
			begin = "[" + begin + "].map(x, x + x + x + x + x + x + x + x)[0]"
		}
		return begin
	}
	numbers := "[1,2,3,4,5,6,7,8,9,10]"
	in := request()
	in.Body = map[string]any{"text": strings.Repeat("a", 200<<10)}
	for name, text := range map[string]string{
		"text that grows":             "size(" + repeat("body.text", 10) + ") > 0",
		"a constant that grows":       "size(" + repeat("'aaaaaaaaaa'", 13) + ") > 0",
		"a list that grows":           "size(" + repeat(numbers, 13) + ") > 0",
		"a search in such a list":     "11 in " + repeat(numbers, 13),
		"nested loops":                fmt.Sprintf("%[1]s.all(a, %[1]s.all(b, %[1]s.all(c, %[1]s.all(d, %[1]s.all(e, %[1]s.all(f, a+b+c+d+e+f > 0))))))", numbers),
		"a replacement of everything": "body.text.replace('a', body.text) == ''",
		"a join of everything":        "['a', 'b', 'c', 'd'].join(body.text) == ''",
		"a split of everything":       "size(body.text.split('')) > 0",
		"a large result":              "body.text + body.text",
		"a large list":                repeat(numbers, 4),
	} {
		p := compiled(t, text)
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), Timeout)
		value, err := p.Value(ctx, in)
		cancel()
		if err == nil {
			t.Errorf("%s: %.100v, want an error", name, value)
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("%s took %s", name, took)
		}
	}
}

func TestEvaluationEndsWithItsContext(t *testing.T) {
	p := compiled(t, "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, a + b + c > 0)))")
	if ok, err := p.Bool(t.Context(), request()); err != nil || !ok {
		t.Fatalf("%t, %v", ok, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Bool(ended, request()); err == nil || !strings.Contains(err.Error(), "takes too long") {
		t.Errorf("%v", err)
	}
}

func TestTemplates(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                       "plain",
		"":                            "",
		"{{ body.title }}":            "Fix <it>",
		"a {{body.number}} b":         "a 7 b",
		"{{ body.labels }}":           `["bug","big"]`,
		"{{ body.head }}":             `{"sha":"abc"}`,
		"{{ {'a': {'b': 1}} }}":       `{"a":{"b":1}}`,
		"{{{'a': {'b': 1}}}}":         `{"a":{"b":1}}`,
		"{{ '}}' }}{{ \"{{\" }}":      "}}{{",
		"{{ '''it's }}''' }}":         "it's }}",
		`{{ 'a\'}}' }}`:               "a'}}",
		`{{ r'\' }}x`:                 `\x`,
		"{{ body.none }}":             "null",
		"}} {":                        "}} {",
		"{{ body.ratio }}/{{ true }}": "0.5/true",
	} {
		compiled, err := CompileTemplate(Webhook, "spec.task.instruction", text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got, err := compiled.Render(t.Context(), request(), 100); err != nil || got != want {
			t.Errorf("%q: %q (%v), want %q", text, got, err, want)
		}
	}
}

func TestTemplateErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a {{ body.x":    "spec.f: {{ without }}: write a literal {{ as {{ '{{' }}",
		"{{ '}} }}":      "{{ without }}",
		"a {{ bodi.x }}": "spec.f: {{ bodi.x }}: line 1, column 2: undeclared reference to 'bodi'",
		"{{ }}":          "Syntax error",
	} {
		if _, err := CompileTemplate(Webhook, "spec.f", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	long, err := CompileTemplate(Webhook, "spec.f", "äöü{{ body.title }}")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := long.Render(t.Context(), request(), 11); err != nil || got != "äöüFix <it>" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := long.Render(t.Context(), request(), 10); err == nil || !strings.Contains(err.Error(), "the text has 11 characters, at most 10 are allowed") {
		t.Errorf("%v", err)
	}
}

func TestJSONTemplatesKeepTypes(t *testing.T) {
	compiled, err := CompileJSON(Webhook, "spec.task.arguments", []byte(`{"number":"{{ body.number }}","text":"no {{ body.number }}","list":["{{ body.labels }}", 9007199254740993, true, null],"deep":{"a":{"b":"{{ body.head }}"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := compiled.Render(t.Context(), request())
	want := `{"deep":{"a":{"b":{"sha":"abc"}}},"list":[["bug","big"],9007199254740993,true,null],"number":7,"text":"no 7"}`
	if err != nil || string(got) != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
	if compiled.Expressions() != 4 {
		t.Errorf("%d expressions, want 4", compiled.Expressions())
	}
	_, err = CompileJSON(Webhook, "spec.task.arguments", []byte(`{"a":{"b":["x","{{ nope }}"]}}`))
	if err == nil || !strings.HasPrefix(err.Error(), "spec.task.arguments.a.b[1]: {{ nope }}: line 1, column 2: undeclared reference") {
		t.Errorf("%v", err)
	}
	if again, err := compiled.Render(t.Context(), request()); err != nil || string(again) != want {
		t.Errorf("the second time: %s (%v)", again, err)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"{{ body.x }}", "{{{}}}", "{{ ''' }}", "{{'}}'}}", "{{ r\"\\\" }}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		compiled, err := CompileTemplate(Webhook, "f", text)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), Timeout)
		defer cancel()
		got, err := compiled.Render(ctx, request(), MaxSize)
		if err == nil && !strings.Contains(text, "{{") && got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// TestTemplatesTakeLittleMemory compiles as many templates as there are triggers in a large cluster: they stay in
// memory.
func TestTemplatesTakeLittleMemory(t *testing.T) {
	const count, most = 1000, 6 << 10
	compile := func() (templates []*Template) {
		for i := range count {
			template, err := CompileTemplate(Schedule, "spec.task.instruction", fmt.Sprintf("Work %d, at {{ trigger.time }}", i))
			if err != nil {
				t.Fatal(err)
			}
			templates = append(templates, template)
		}
		return templates
	}
	compile() // what all expressions share
	before := heapBytes()
	templates := compile()
	if each := (heapBytes() - before) / count; each > most {
		t.Errorf("a template takes %d bytes, want at most %d", each, most)
	}
	runtime.KeepAlive(templates)
}

func heapBytes() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func BenchmarkTemplate(b *testing.B) {
	template, err := CompileTemplate(Schedule, "spec.task.instruction", "Work at {{ trigger.time }}")
	if err != nil {
		b.Fatal(err)
	}
	in := Input{Trigger: map[string]any{"time": "now"}}
	for b.Loop() {
		if _, err := template.Render(b.Context(), in, 100); err != nil {
			b.Fatal(err)
		}
	}
}
