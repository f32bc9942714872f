// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// parameters places a prepared schema where submit_result has it.
func parameters(schema json.RawMessage) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"type":"object","required":["data"],"properties":{"data":%s}}`, schema))
}

// A schema must accept and refuse the same data in the parameters of submit_result as it does on its own.
func TestEmbeddedOutputSchema(t *testing.T) {
	for name, test := range map[string]struct {
		schema    string
		good, bad []string
	}{
		"plain": {`{"type":"object","required":["verdict"],"properties":{"verdict":{"enum":["approve","reject"]}}}`,
			[]string{`{"verdict":"approve"}`}, []string{`{}`, `{"verdict":"maybe"}`}},
		"without a type": {`{"required":["a"]}`, []string{`{"a":1}`}, []string{`{}`}},
		"definitions": {`{"type":"object","properties":{"finding":{"$ref":"#/$defs/finding"}},"$defs":{"finding":{"type":"object","required":["file"]}}}`,
			[]string{`{"finding":{"file":"a"}}`, `{}`}, []string{`{"finding":{}}`, `{"finding":7}`}},
		"recursion": {`{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}}}`,
			[]string{`{"name":"a","children":[{"name":"b","children":[]}]}`}, []string{`{"name":"a","children":[{"children":[]}]}`}},
		"a reference into a property": {`{"type":"object","properties":{"a":{"type":"integer"},"b":{"$ref":"#/properties/a"}}}`,
			[]string{`{"b":1}`}, []string{`{"b":"x"}`}},
		"an identifier": {`{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/verdict.json","type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"integer"}}}`,
			[]string{`{"a":1}`}, []string{`{"a":"x"}`}},
		"an anchor":                   {`{"type":"object","properties":{"a":{"$ref":"#n"}},"$defs":{"a":{"$anchor":"n","type":"integer"}}}`, []string{`{"a":1}`}, []string{`{"a":"x"}`}},
		"a property called $ref":      {`{"type":"object","required":["$ref"],"properties":{"$ref":{"type":"string"}}}`, []string{`{"$ref":"#/x"}`}, []string{`{"$ref":1}`}},
		"a property called default":   {`{"type":"object","properties":{"default":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`, []string{`{"default":1}`}, []string{`{"default":"x"}`}},
		"a constant with a reference": {`{"type":"object","properties":{"a":{"const":{"$ref":"#/x"}}}}`, []string{`{"a":{"$ref":"#/x"}}`}, []string{`{"a":{"$ref":"#/properties/data/x"}}`}},
		"alternatives":                {`{"type":"object","oneOf":[{"$ref":"#/$defs/a"},{"required":["b"]}],"$defs":{"a":{"required":["a"]}}}`, []string{`{"a":1}`, `{"b":1}`}, []string{`{}`, `{"a":1,"b":1}`}},
		"a pattern":                   {`{"type":"object","properties":{"a":{"type":"string","pattern":"^[a-z]+$"}}}`, []string{`{"a":"x"}`}, []string{`{"a":"7"}`}},
	} {
		prepared, err := OutputSchema(json.RawMessage(test.schema))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var own, placed Checker
		check := func(data string, good bool) {
			t.Helper()
			alone, err := own.Violations(t.Context(), json.RawMessage(test.schema), json.RawMessage(data))
			if err != nil {
				t.Fatal(err)
			}
			inside, err := placed.Violations(t.Context(), parameters(prepared), json.RawMessage(`{"data":`+data+`}`))
			if err != nil || (len(alone) == 0) != good || (len(inside) == 0) != good {
				t.Errorf("%s: %s: on its own %q, in its place %q, want it valid: %v", name, data, alone, inside, good)
			}
		}
		for _, data := range test.good {
			check(data, true)
		}
		for _, data := range test.bad {
			check(data, false)
		}
	}
}

func TestUnusableOutputSchemasAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ schema, want string }{
		"no JSON":                {`{`, "ends too early"},
		"no object":              {`["a"]`, "must be a JSON object"},
		"another type":           {`{"type":"array"}`, "must have type object"},
		"a bad keyword":          {`{"required":7}`, "required"},
		"a missing definition":   {`{"properties":{"a":{"$ref":"#/$defs/b"}}}`, "$defs"},
		"a reference elsewhere":  {`{"$ref":"https://example.com/s.json"}`, "only references within the schema"},
		"a file":                 {`{"$ref":"file:///etc/passwd"}`, "only references within the schema"},
		"an unsupported pattern": {`{"properties":{"a":{"pattern":"(?=x)"}}}`, "RE2"},
		"an unsupported name":    {`{"patternProperties":{"(?=x)":{}}}`, "RE2"},
		"too large":              {`{"description":"` + strings.Repeat("x", maxOutputSchema) + `"}`, "at most 16384"},
		"twice the same key":     {`{"type":"object","type":"object"}`, "twice"},
		"an embedded resource":   {`{"properties":{"a":{"$id":"https://example.com/a","$ref":"#/$defs/b"}}}`, ""},
	} {
		_, err := OutputSchema(json.RawMessage(test.schema))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, test.want)
		}
	}
}
