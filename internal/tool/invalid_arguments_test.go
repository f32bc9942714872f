// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nestor-dev/nestor/internal/tool"
)

// bookingSchema uses the keywords that schemas of real tools use.
const bookingSchema = `{
  "type": "object",
  "required": ["city", "nights"],
  "additionalProperties": false,
  "dependentRequired": {"coupon": ["email"]},
  "properties": {
    "city":   {"type": "string", "minLength": 2, "maxLength": 20, "pattern": "^[A-Z]"},
    "nights": {"type": "integer", "minimum": 1, "maximum": 30},
    "price":  {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5},
    "room":   {"enum": ["single", "double"]},
    "kind":   {"const": "hotel"},
    "smoker": {"type": "boolean"},
    "note":   {"type": ["string", "null"]},
    "email":  {"type": "string"},
    "coupon": {"type": "string"},
    "guests": {"type": "array", "minItems": 1, "maxItems": 2, "uniqueItems": true, "items": {"$ref": "#/$defs/guest"}},
    "pay":    {"oneOf": [{"type": "string"}, {"type": "object", "required": ["card"]}]},
    "extras": {"type": "object", "maxProperties": 1, "propertyNames": {"pattern": "^x-"}, "additionalProperties": {"type": "integer"}},
    "pair":   {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false},
    "never":  {"not": {"type": "string"}}
  },
  "$defs": {"guest": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}}
}`

func TestInvalidArgumentsNeverReachTool(t *testing.T) {
	const ok = `"city":"Rome","nights":2`
	deep := strings.Repeat(`{"a":`, 80) + "1" + strings.Repeat("}", 80)
	cases := []struct{ name, arguments, says string }{
		// Not JSON, or not an object.
		{"no JSON at all", `Rome, two nights`, "not valid JSON"},
		{"cut off", `{"city":"Rome","nigh`, "ends too early"},
		{"single quotes", `{'city':'Rome'}`, "not valid JSON"},
		{"trailing comma", `{` + ok + `,}`, "not valid JSON"},
		{"comment", `{` + ok + ` /* two */}`, "not valid JSON"},
		{"two objects", `{` + ok + `}{` + ok + `}`, "not valid JSON"},
		{"text after the object", `{` + ok + `} please`, "not valid JSON"},
		{"code fence", "```json\n{" + ok + "}\n```", "not valid JSON"},
		{"NaN", `{"city":"Rome","nights":NaN}`, "not valid JSON"},
		{"not UTF-8", "{\"city\":\"R\xffme\",\"nights\":2}", "not valid UTF-8"},
		{"null", `null`, "got null"},
		{"array", `[{` + ok + `}]`, "got an array"},
		{"string that holds JSON", `"{}"`, "got a string"},
		{"number", `7`, "got a number"},
		{"boolean", `true`, "got a boolean"},
		{"a key twice", `{` + ok + `,"nights":3}`, `the key "nights" twice`},
		{"a key twice inside", `{` + ok + `,"extras":{"x-a":1,"x-a":2}}`, `/extras has the key "x-a" twice`},
		{"too deep", `{` + ok + `,"pay":` + deep + `}`, "nested more than"},
		{"too long", `{` + ok + `,"note":"` + strings.Repeat("x", 1<<20) + `"}`, "more than the limit"},
		{"huge exponent", `{"city":"Rome","nights":1e999999999}`, "/nights is out of range"},
		{"tiny exponent", `{` + ok + `,"price":1e-999999999}`, "/price is out of range"},
		{"thousands of digits", `{"city":"Rome","nights":` + strings.Repeat("9", 5000) + `}`, "/nights has too many digits"},
		// JSON that does not fit.
		{"empty", ``, "missing properties"},
		{"required missing", `{"city":"Rome"}`, "nights"},
		{"unknown property", `{` + ok + `,"town":"Rome"}`, "town"},
		{"wrong case of a property", `{` + ok + `,"City":"Rome"}`, "City"},
		{"string for integer", `{"city":"Rome","nights":"2"}`, "/nights: got string, want integer"},
		{"fraction for integer", `{"city":"Rome","nights":2.5}`, "/nights"},
		{"null for string", `{"city":null,"nights":2}`, "/city: got null, want string"},
		{"object for string", `{"city":{},"nights":2}`, "/city: got object, want string"},
		{"string for boolean", `{` + ok + `,"smoker":"yes"}`, "/smoker: got string, want boolean"},
		{"number for string or null", `{` + ok + `,"note":1}`, "/note"},
		{"too short", `{"city":"R","nights":2}`, "/city: minLength"},
		{"too long a string", `{"city":"Rrrrrrrrrrrrrrrrrrrrrr","nights":2}`, "/city: maxLength"},
		{"pattern", `{"city":"rome","nights":2}`, "/city"},
		{"below minimum", `{"city":"Rome","nights":0}`, "/nights: minimum"},
		{"above maximum", `{"city":"Rome","nights":31}`, "/nights: maximum"},
		{"at exclusive minimum", `{` + ok + `,"price":0}`, "/price"},
		{"not a multiple", `{` + ok + `,"price":0.7}`, "/price"},
		{"not in enum", `{` + ok + `,"room":"suite"}`, "'single', 'double'"},
		{"not the constant", `{` + ok + `,"kind":"motel"}`, "/kind"},
		{"too few items", `{` + ok + `,"guests":[]}`, "/guests: minItems"},
		{"too many items", `{` + ok + `,"guests":[{"name":"a"},{"name":"b"},{"name":"c"}]}`, "/guests: maxItems"},
		{"items not unique", `{` + ok + `,"guests":[{"name":"a"},{"name":"a"}]}`, "/guests"},
		{"object for array", `{` + ok + `,"guests":{"name":"a"}}`, "/guests: got object, want array"},
		{"behind a reference", `{` + ok + `,"guests":[{"name":"a"},{"name":"b","age":"old"}]}`, "/guests/1/age: got string, want integer"},
		{"required behind a reference", `{` + ok + `,"guests":[{"age":4}]}`, "/guests/0: missing property 'name'"},
		{"no alternative", `{` + ok + `,"pay":1}`, "/pay"},
		{"dependent property missing", `{` + ok + `,"coupon":"x"}`, "email"},
		{"too many properties", `{` + ok + `,"extras":{"x-a":1,"x-b":2}}`, "/extras: maxProperties"},
		{"name of a property", `{` + ok + `,"extras":{"a":1}}`, `a property must not be called "a"`},
		{"value of a free property", `{` + ok + `,"extras":{"x-a":"1"}}`, "/extras/x-a: got string, want integer"},
		{"beyond a tuple", `{` + ok + `,"pair":["a",1,2]}`, "/pair"},
		{"wrong place of a tuple", `{` + ok + `,"pair":[1,"a"]}`, "/pair/0"},
		{"forbidden by not", `{` + ok + `,"never":"x"}`, "/never"},
	}
	var r recorder
	set := makeSet(t, makeTool(t, tool.Spec{Name: "book", Parameters: json.RawMessage(bookingSchema)}, r.run))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			result := execute(t, set, "book", c.arguments)
			if result.Failure != tool.InvalidArguments || !result.Output.IsError {
				t.Errorf("failure %q, want InvalidArguments", result.Failure)
			}
			if !strings.Contains(result.Text, c.says) {
				t.Errorf("the text lacks %q:\n%s", c.says, result.Text)
			}
			if !strings.Contains(result.Text, "nothing was run") {
				t.Errorf("the text does not report that nothing was run:\n%s", result.Text)
			}
		})
	}
	if len(cases) < 30 {
		t.Errorf("%d kinds of invalid arguments, want at least 30", len(cases))
	}
	if seen := r.received(); len(seen) > 0 {
		t.Errorf("invalid arguments reached the tool: %q", seen)
	}
}

func TestValidArgumentsReachTheTool(t *testing.T) {
	full := `{"city":"Rome","nights":2.0,"price":1e1,"room":"single","kind":"hotel","smoker":false,"note":null,` +
		`"email":"a@b","coupon":"c","guests":[{"name":"Ada","age":36}],"pay":{"card":"1"},"extras":{"x-a":1},"pair":["a",1],"never":3}`
	for _, arguments := range []string{`{"city":"Rome","nights":2}`, full, " \n{\"city\":\"Rome\",\"nights\":2}\n"} {
		var r recorder
		set := makeSet(t, makeTool(t, tool.Spec{Name: "book", Parameters: json.RawMessage(bookingSchema)}, r.run))
		if result := execute(t, set, "book", arguments); result.Failure != tool.NoFailure {
			t.Errorf("%s\nfailed: %s", arguments, result.Text)
		}
		if len(r.received()) != 1 {
			t.Errorf("%s\nreached the tool %d times, want once", arguments, len(r.received()))
		}
	}
}

func TestNoArgumentsAreEmptyObject(t *testing.T) {
	for _, arguments := range []string{"", "  ", "{}"} {
		var r recorder
		set := makeSet(t, makeTool(t, tool.Spec{Name: "now"}, r.run))
		execute(t, set, "now", arguments)
		if seen := r.received(); len(seen) != 1 || seen[0] != "{}" {
			t.Errorf("arguments %q reached the tool as %q, want {}", arguments, seen)
		}
	}
}

func TestViolationsShortenLongValues(t *testing.T) {
	var r recorder
	set := makeSet(t, makeTool(t, tool.Spec{Name: "book", Parameters: json.RawMessage(bookingSchema)}, r.run))
	result := execute(t, set, "book", `{"nights":2,"city":"`+strings.Repeat("é", 10_000)+`"}`)
	if line := strings.Split(result.Text, "\n")[1]; len(line) > 400 || !utf8.ValidString(line) {
		t.Errorf("a line of %d bytes", len(line))
	}
}

func TestManyViolationsAreListedTogether(t *testing.T) {
	var r recorder
	set := makeSet(t, makeTool(t, tool.Spec{Name: "book", Parameters: json.RawMessage(bookingSchema)}, r.run))
	result := execute(t, set, "book", `{"city":"r","nights":0,"smoker":"no"}`)
	for _, path := range []string{"/city: minLength", "/nights: minimum", "/smoker: got string"} {
		if !strings.Contains(result.Text, path) {
			t.Errorf("violation %q is not listed:\n%s", path, result.Text)
		}
	}
}
