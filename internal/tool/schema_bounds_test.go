// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// branching returns a schema with definitions a0 to an. Each is the form with %[1]s replaced by a reference to the next
// one, and the last allows text only.
func branching(n int, form string) string {
	var definitions []string
	for i := range n {
		definitions = append(definitions, fmt.Sprintf(`"a%d":`+form, i, fmt.Sprintf(`{"$ref":"#/$defs/a%d"}`, i+1)))
	}
	definitions = append(definitions, fmt.Sprintf(`"a%d":{"type":"string"}`, n))
	return `{"type":"object","$ref":"#/$defs/a0","$defs":{` + strings.Join(definitions, ",") + `}}`
}

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestTooComplexSchemasAreRefused(t *testing.T) {
	for name, schema := range map[string]string{
		"anyOf":             branching(28, `{"anyOf":[%[2]s,%[2]s]}`),
		"allOf":             branching(28, `{"allOf":[%[2]s,%[2]s]}`),
		"oneOf":             branching(28, `{"oneOf":[%[2]s,%[2]s]}`),
		"if":                branching(28, `{"if":%[2]s,"then":%[2]s,"else":%[2]s}`),
		"not":               branching(28, `{"not":%[2]s,"allOf":[%[2]s]}`),
		"reference":         branching(28, `{"$ref":"#/$defs/a28","anyOf":[%[2]s,%[2]s]}`),
		"dependent schemas": branching(28, `{"dependentSchemas":{"a":%[2]s,"b":%[2]s}}`),
		"dependencies": `{"$schema":"http://json-schema.org/draft-07/schema#",` +
			branching(28, `{"dependencies":{"a":%[2]s,"b":%[2]s}}`)[1:],
		"unused by the root": `{"type":"object","properties":{"x":` + branching(28, `{"anyOf":[%[2]s,%[2]s]}`) + `},"$defs":` +
			strings.TrimPrefix(branching(28, `{"anyOf":[%[2]s,%[2]s]}`), `{"type":"object","$ref":"#/$defs/a0","$defs":`),
		"a long chain":       branching(100, `{"allOf":[%[2]s]}`),
		"many parts":         `{"anyOf":[` + strings.Repeat(`{},`, 5000) + `{}]}`,
		"long names":         `{"$defs":{"` + strings.Repeat("x", 100_000) + `":{"anyOf":[` + strings.Repeat(`{},`, 1000) + `{}]}}}`,
		"large":              `{"description":"` + strings.Repeat("x", 300<<10) + `"}`,
		"large pattern":      `{"properties":{"a":{"pattern":"` + strings.Repeat("x", 3000) + `"}}}`,
		"a repeated pattern": `{"properties":{"a":{"pattern":"(` + strings.Repeat("[a-z]", 300) + `){900}"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			source := json.RawMessage(schema)
			if err := CheckSchema(source); !errors.Is(err, errTooComplex) {
				t.Errorf("the schema leads to %v", err)
			}
			if _, err := OutputSchema(source); err == nil {
				t.Error("the schema was accepted for a result")
			}
			var checker Checker
			if lines, err := checker.Violations(t.Context(), source, json.RawMessage(`{}`)); err != nil || len(lines) == 0 {
				t.Errorf("the arguments were accepted: %v", err)
			}
		})
	}
}

func TestUnsupportedReferencesAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ schema, want string }{
		"to itself":      {`{"allOf":[{"$ref":"#"}]}`, "leads back to itself"},
		"in a circle":    {`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`, "leads back to itself"},
		"dynamic":        {`{"properties":{"a":{"$dynamicRef":"#x"}},"$defs":{"x":{"$dynamicAnchor":"x"}}}`, "not supported"},
		"recursive":      {`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"a":{"$recursiveRef":"#"}}}`, "not supported"},
		"own metaschema": {`{"properties":{"a":{"$id":"x","$schema":"` + schemaURL + `"}}}`, "its own $schema"},
		"remote":         {`{"properties":{"a":{"$ref":"https://example.com/s.json"}}}`, "only references within the schema"},
	} {
		if err := CheckSchema(json.RawMessage(test.schema)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestCheckHasStepBudget(t *testing.T) {
	distinct := make([]string, 0, 5000) // these arrays have the same hash in the library
	for i := range 5000 {
		distinct = append(distinct, fmt.Sprintf("[%s,%s]", nested(i%50+1), strings.TrimSuffix(strings.Repeat("[],", 60-i%50), ",")))
	}
	for name, test := range map[string]struct{ schema, value string }{
		"nested arrays": {`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"items":{"$ref":"#/$defs/a"},"contains":{"$ref":"#/$defs/a"}}}}`,
			`{"a":` + nested(40) + `}`},
		"nested objects": {`{"properties":{"a":{"$ref":"#"}},"patternProperties":{"^a":{"$ref":"#"}}}`,
			strings.Repeat(`{"a":`, 40) + "{}" + strings.Repeat("}", 40)},
		"negated objects": {`{"not":{"$ref":"#/$defs/a"},"$defs":{"a":{"properties":{"a":{"$ref":"#/$defs/a"}},"patternProperties":{"^a":{"$ref":"#/$defs/a"}}}}}`,
			strings.Repeat(`{"a":`, 40) + "7" + strings.Repeat("}", 40)},
		"alternatives for elements": {`{"properties":{"a":{"items":{"anyOf":[` + strings.Repeat(`{"type":"string","minLength":2},`, 200) + `false]}}}}`,
			`{"a":[` + strings.Repeat(`"x",`, 10_000) + `"x"]}`},
		"unique arrays": {`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + strings.Join(distinct, ",") + `]}`},
		"enum":          {`{"properties":{"a":{"items":{"enum":[` + strings.Repeat(`1,`, 2000) + `2]}}}}`, `{"a":[` + strings.Repeat("3,", 2000) + `3]}`},
		"pattern":       {`{"properties":{"a":{"pattern":"(a?){500}(a{1,500})$"}}}`, `{"a":"` + strings.Repeat("a", 200_000) + `b"}`},
	} {
		t.Run(name, func(t *testing.T) {
			compiled, _, err := compileSchema(json.RawMessage(test.schema))
			if err != nil {
				t.Fatal(err)
			}
			value, err := decodeArguments(json.RawMessage(test.value))
			if err != nil {
				t.Fatal(err)
			}
			lines, err := compiled.check(t.Context(), value)
			if err != nil || len(lines) != 1 || !strings.Contains(lines[0], "too complex for this value") {
				t.Errorf("got %q, %v", lines, err)
			}
		})
	}
}

func TestUsualSchemasAreNotTooComplex(t *testing.T) {
	row := `{"id":7,"name":"Ada","tags":["a","b"],"ok":true,"price":1.5}`
	variants := make([]string, 0, 100)
	for i := range 100 {
		variants = append(variants, fmt.Sprintf(`{"type":"object","required":["kind"],"properties":{"kind":{"const":"k%d"},"next":{"$ref":"#/$defs/node"}}}`, i))
	}
	for name, test := range map[string]struct{ schema, value string }{
		"a table": {`{"properties":{"rows":{"type":"array","uniqueItems":false,"items":{"$ref":"#/$defs/row"}}},"$defs":{"row":{"type":"object","additionalProperties":false,
			"required":["id","name"],"properties":{"id":{"type":"integer"},"name":{"type":"string","minLength":1},"tags":{"type":"array","items":{"type":"string"}},
			"ok":{"type":"boolean"},"price":{"type":"number","minimum":0}}}}}`, `{"rows":[` + strings.Repeat(row+",", 5000) + row + `]}`},
		"many numbers": {`{"properties":{"a":{"type":"array","items":{"type":"number"}}}}`, `{"a":[` + strings.Repeat("1.5,", 80_000) + `1]}`},
		"unique names": {`{"properties":{"a":{"type":"array","uniqueItems":true,"items":{"type":"string","pattern":"^[a-z]+$"}}}}`, `{"a":["ada","bob"]}`},
		"a tree": {`{"properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}}}`,
			strings.Repeat(`{"name":"x","children":[`, 30) + strings.Repeat("]}", 30)},
		"variants": {`{"properties":{"root":{"$ref":"#/$defs/node"}},"$defs":{"node":{"oneOf":[` + strings.Join(variants, ",") + `]}}}`, `{"root":{"kind":"k7"}}`},
		"a metaschema": {`{"properties":{"schema":{"$ref":"http://json-schema.org/draft-07/schema#"}}}`,
			`{"schema":{"type":"object","properties":{"a":{"type":"array","items":{"pattern":"^a"}}}}}`},
		"a long text": {`{"properties":{"a":{"type":"string","maxLength":1000000}}}`, `{"a":"` + strings.Repeat("x", 900_000) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			var checker Checker
			if err := CheckSchema(json.RawMessage(test.schema)); err != nil {
				t.Fatal(err)
			}
			if lines, err := checker.Violations(t.Context(), json.RawMessage(test.schema), json.RawMessage(test.value)); err != nil || len(lines) > 0 {
				t.Errorf("got %q, %v", lines, err)
			}
		})
	}
}

func TestCheckStopsWithContext(t *testing.T) {
	compiled, _, err := compileSchema(json.RawMessage(`{"properties":{"a":{"items":{"type":"number"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	value, err := decodeArguments(json.RawMessage(`{"a":[` + strings.Repeat("1,", 5000) + `1]}`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := compiled.check(ctx, value); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestCheckHasMemoryBudget checks a value with as many violations as the steps allow.
func TestCheckHasMemoryBudget(t *testing.T) {
	const schema = `{"properties":{"a":{"items":{"anyOf":[{"type":"string"},{"type":"boolean"},{"type":"object"},{"type":"null"}]}}}}`
	compiled, _, err := compileSchema(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	value, err := decodeArguments(json.RawMessage(`{"a":[` + strings.Repeat("1,", 16_000) + `1]}`))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	lines, err := compiled.check(t.Context(), value)
	runtime.ReadMemStats(&after)
	if err != nil || len(lines) != maxViolations+1 {
		t.Fatalf("got %q, %v", lines, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 128<<20 {
		t.Errorf("the check allocated %d MiB", used>>20)
	}
}

// visits counts the subschemas that the library visits to their end.
type visits struct{ count int }

func (v *visits) Validate(*jsonschema.ValidatorContext, any) { v.count++ }

// checkCount fails if the library does more than was counted before.
func checkCount(t interface{ Fatalf(string, ...any) }, schema, value string) {
	compiled, _, err := compileSchema(json.RawMessage(schema))
	if err != nil {
		return
	}
	arguments, err := decodeArguments(json.RawMessage(value))
	if err != nil {
		return
	}
	var counted visits
	for s := range compiled.parts {
		s.Extensions = append(s.Extensions, &counted)
	}
	m := meter{ctx: context.Background(), parts: compiled.parts, left: math.MaxInt}
	if err := m.visit(compiled.compiled, arguments, 0); err != nil {
		t.Fatalf("count %s for %s: %v", schema, value, err)
	}
	if math.MaxInt-m.left > maxSteps {
		return
	}
	_ = compiled.compiled.Validate(arguments)
	if counted.count > math.MaxInt-m.left {
		t.Fatalf("%s for %s: counted %d steps, and the library visited %d subschemas", schema, value, math.MaxInt-m.left, counted.count)
	}
}

// TestStepsAreCountedInFull compares the count with the library for random schemas and values.
func TestStepsAreCountedInFull(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		definitions := map[string]any{}
		for i := range 4 {
			definitions[fmt.Sprintf("d%d", i)] = drawSchema(r, 2)
		}
		root, _ := drawSchema(r, 3).(map[string]any)
		if root == nil {
			root = map[string]any{}
		}
		delete(root, "type")
		root["$defs"] = definitions
		if draft := rapid.SampledFrom([]string{"", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema"}).Draw(r, "draft"); draft != "" {
			root["$schema"] = draft
		}
		schema, err := json.Marshal(root)
		if err != nil {
			r.Fatalf("encode: %v", err)
		}
		value, err := json.Marshal(map[string]any{"a": drawValue(r, 3), "ab": drawValue(r, 3), "c": drawValue(r, 2)})
		if err != nil {
			r.Fatalf("encode: %v", err)
		}
		checkCount(r, string(schema), string(value))
	})
}

func drawSchema(r *rapid.T, depth int) any {
	if depth == 0 || rapid.IntRange(0, 9).Draw(r, "leaf") == 0 {
		return rapid.SampledFrom([]any{true, false, map[string]any{"type": "string"}, map[string]any{"type": "object"}, map[string]any{"minItems": 1}}).Draw(r, "schema")
	}
	one := func() any { return drawSchema(r, depth-1) }
	two := func() any { return []any{one(), one()} }
	s := map[string]any{}
	for range rapid.IntRange(1, 3).Draw(r, "keywords") {
		switch word := rapid.SampledFrom([]string{
			"$ref", "allOf", "anyOf", "oneOf", "not", "if", "properties", "patternProperties", "additionalProperties", "propertyNames", "items",
			"prefixItems", "contains", "unevaluatedProperties", "unevaluatedItems", "dependentSchemas", "dependencies", "enum", "uniqueItems", "pattern",
		}).Draw(r, "keyword"); word {
		case "$ref":
			s[word] = rapid.SampledFrom([]string{"#/$defs/d0", "#/$defs/d1", "#/$defs/d2", "#/$defs/d3", "#"}).Draw(r, "reference")
		case "allOf", "anyOf", "oneOf", "prefixItems":
			s[word] = two()
		case "if":
			s["if"], s["then"], s["else"] = one(), one(), one()
		case "properties", "dependentSchemas", "dependencies":
			s[word] = map[string]any{"a": one(), "c": one()}
		case "patternProperties":
			s[word] = map[string]any{"^a": one(), "b": one()}
		case "enum":
			s[word] = []any{drawValue(r, 1), drawValue(r, 1)}
		case "uniqueItems":
			s[word] = true
		case "pattern":
			s[word] = "^a+$"
		default:
			s[word] = one()
		}
	}
	return s
}

func drawValue(r *rapid.T, depth int) any {
	choice := rapid.IntRange(0, 5).Draw(r, "value")
	switch {
	case depth > 0 && choice < 2:
		return []any{drawValue(r, depth-1), drawValue(r, depth-1)}
	case depth > 0 && choice < 4:
		return map[string]any{"a": drawValue(r, depth-1), "ab": drawValue(r, depth-1), "c": drawValue(r, depth-1)}
	case choice == 4:
		return "aaa"
	}
	return choice
}

// FuzzSchemas looks for a schema and a value whose check panics or exceeds the count.
func FuzzSchemas(f *testing.F) {
	f.Add(branching(8, `{"anyOf":[%[2]s,%[2]s]}`), `{}`)
	f.Add(`{"properties":{"a":{"items":{"$ref":"#"},"uniqueItems":true}}}`, `{"a":[{"a":[]},{}]}`)
	f.Add(`{"patternProperties":{"^a":{"pattern":"(a{1,3}){2}"}},"unevaluatedProperties":false}`, `{"ab":"aaa"}`)
	f.Fuzz(func(t *testing.T, schema, value string) { checkCount(t, schema, value) })
}
