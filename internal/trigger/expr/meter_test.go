// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// repeated returns an expression over d, a list whose values occur 8^levels times and that takes the memory of a few.
func repeated(levels int, text string) string {
	return "[[1]]" + strings.Repeat(".map(a, [a,a,a,a,a,a,a,a])", levels) + ".exists(d, " + text + ")"
}

// steps evaluates an expression and returns what it traversed.
func steps(t *testing.T, text string, in Input) (int, error) {
	t.Helper()
	p, err := Compile(Webhook, "spec.webhook.when", text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	program, err := p.plan()
	if err != nil {
		t.Fatal(err)
	}
	m := &meter{ctx: t.Context()}
	variables, err := in.activation()
	if err != nil {
		t.Fatal(err)
	}
	variables[meterName] = m
	_, _, err = program.ContextEval(t.Context(), variables)
	return m.steps, err
}

// nested returns lists in lists, with the same items in each.
func nested(depth, width int) any {
	var value any = "x"
	for range depth {
		items := make([]any, width)
		for i := range items {
			items[i] = value
		}
		value = items
	}
	return value
}

func TestExpensiveExpressionsEnd(t *testing.T) {
	many := map[string]any{}
	for i := range 20_000 {
		many[fmt.Sprint(i)] = int64(i)
	}
	body := map[string]any{
		"text": strings.Repeat("a", 100_000), "pattern": strings.Repeat("(a?){100}", 10) + "b", "tree": nested(4, 10), "many": many,
		"long": strings.Repeat("x", 2*maxPattern),
	}
	for _, text := range []string{
		repeated(13, "d == d"),
		repeated(13, "d != d"),
		repeated(13, "d in [d]"),
		repeated(13, "optional.of(d) == optional.of(d)"),
		repeated(13, "{'a': d} == {'a': d}"),
		"[[1]]" + strings.Repeat(".map(a, a + a + a + a + a + a + a + a)", 13) + ".exists(d, d == d)",
		"body.tree.all(a, body.tree.all(b, body.tree.all(c, body.tree == body.tree)))",
		"body.many.all(a, body.many.all(b, body.tree in [body.tree]))",
		"body.many.all(a, [body.tree, body.tree] != [])",
		"body.text.matches(body.pattern)",
		"body.many.all(a, body.text.matches('a+$'))",
		"body.many.all(a, body.many.exists(b, true))",
		"['a']" + strings.Repeat(".map(a, a + a + a + a + a + a + a + a)", 13) + ".exists(d, d == d)",
	} {
		got, err := steps(t, text, Input{Body: body})
		if err == nil || !strings.Contains(err.Error(), "too large") && !strings.Contains(err.Error(), "cost limit") {
			t.Errorf("%s: %v", text, err)
		}
		if got > maxSteps {
			t.Errorf("%s took %d steps", text, got)
		}
	}
	if _, err := steps(t, "body.text.matches(body.long)", Input{Body: body}); err == nil {
		t.Error("a long regular expression was compiled")
	}
}

func TestComparisonsStillWork(t *testing.T) {
	body := map[string]any{"a": nested(3, 3), "b": nested(3, 3), "c": nested(3, 2), "text": "v1.2.3", "m": map[string]any{"k": []any{int64(1)}}}
	for text, want := range map[string]bool{
		"body.a == body.b": true, "body.a != body.b": false, "body.a == body.c": false, "body.c in [body.a, body.c]": true,
		"'k' in body.m": true, "body.m == {'k': [1]}": true, "body.m == {'k': [1.0]}": true, "body.text.matches('^v[0-9.]+$')": true,
		"[1] + [2] == [1, 2]": true, "'a' + 'b' == 'ab'": true, "1 + 2 == 3": true, "b'a' + b'b' == b'ab'": true,
		"optional.of([1]) == optional.of([1])": true, "body.a.map(x, x) == body.b": true, "{'a': 1} != {'a': 2}": true, "dyn(1) == 1.0": true,
		"timestamp('2026-01-01T00:00:00Z') + duration('1h') == timestamp('2026-01-01T01:00:00Z')": true, "null == body.?x.orValue(null)": true,
		"body.m.exists(k, k == 'k')": true, "matches('abc', 'b')": true,
	} {
		p, err := Compile(Webhook, "spec.webhook.when", text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := p.Bool(t.Context(), Input{Body: body}); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

func TestTraversalIsInterrupted(t *testing.T) {
	p, err := Compile(Webhook, "spec.webhook.when", repeated(4, "d == d"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Bool(ctx, Input{}); err == nil || !strings.Contains(err.Error(), "takes too long") {
		t.Errorf("got %v", err)
	}
}

func TestLargeInputIsRefused(t *testing.T) {
	p, err := Compile(Webhook, "spec.webhook.when", "true")
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []any{nested(maxInputDepth+1, 1), nested(1, maxValues), nested(2, 300)} {
		if _, err := p.Bool(t.Context(), Input{Body: body}); err == nil {
			t.Error("a body that is too large was accepted")
		}
	}
	if _, err := p.Bool(t.Context(), Input{Body: nested(maxInputDepth, 1)}); err != nil {
		t.Error(err)
	}
}

// TestCompilationIsBounded has the expressions that are small in a spec and that would take the compiler minutes.
func TestCompilationIsBounded(t *testing.T) {
	keys := "[1]"
	for range maxComputedKeys + 1 {
		keys += ".map(a, {a: a})"
	}
	for _, text := range []string{
		"optional.of(1)" + strings.Repeat(".optMap(x, x)", 30), "optional.of(1)" + strings.Repeat(".optFlatMap(x, optional.of(x))", 30),
		keys, "[]" + strings.Repeat(".map(a, [a])", maxLoops+1), "[" + strings.Repeat("[]+[],", 200) + "[]]",
		"1" + strings.Repeat(" + 1", maxNodes/2), strings.Repeat("{'a': ", maxNesting+1) + "1" + strings.Repeat("}", maxNesting+1),
		strings.Repeat("[", maxNesting+1) + strings.Repeat("]", maxNesting+1), "true" + strings.Repeat(" ", maxExpression), "[1].map(x, __result__ + __result__)", "[1].map(x, @result)",
	} {
		if _, err := Compile(Webhook, "spec.webhook.when", text); err == nil {
			t.Errorf("%.60s compiles", text)
		}
	}
	for _, text := range []string{
		"{body.name: 1, 'x': 2} != {}", strings.Repeat("[{'a': ", maxNesting/2) + "1" + strings.Repeat("}]", maxNesting/2),
	} {
		if _, err := Compile(Webhook, "spec.webhook.when", text); err != nil {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}

func TestTooManyExpressions(t *testing.T) {
	many := strings.Repeat("{{ 1 }}", MaxExpressions+1)
	if _, err := CompileTemplate(Webhook, "spec.task.instruction", many); err == nil {
		t.Error("a text with too many expressions compiles")
	}
	if _, err := CompileJSON(Webhook, "spec.task.arguments", []byte(`["`+strings.Repeat("{{ 1 }}", MaxExpressions)+`", "{{ 1 }}"]`)); err == nil {
		t.Error("arguments with too many expressions compile")
	}
	if _, err := CompileJSON(Webhook, "spec.task.arguments", []byte(`["`+strings.Repeat("{{ 1 }}", MaxExpressions)+`"]`)); err != nil {
		t.Error(err)
	}
}
