// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package closedschema

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
)

const verdictSchema = `{"type":"object","additionalProperties":false,"required":["spam","topic"],"properties":{
	"spam":{"type":"boolean","description":"Whether it is spam."},
	"topic":{"enum":["billing","bug","other"]},
	"urgency":{"type":"integer","minimum":1,"maximum":5}}}`

func with(property string) string {
	return `{"type":"object","additionalProperties":false,"properties":{"p":` + property + `}}`
}

func TestParse(t *testing.T) {
	s, err := Parse(json.RawMessage(verdictSchema))
	if err != nil || s.Values().Int64() != 2*3*6 || s.Bits() != 6 {
		t.Fatalf("the schema has %v values (%v)", s.Values(), err)
	}
	wide := `{"type":"object","additionalProperties":false,"required":["n"],"properties":{"n":{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}}}`
	if s, err := Parse(json.RawMessage(wide)); err != nil || s.Bits() != 64 {
		t.Errorf("64 bits: %v", err)
	}
	for source, want := range map[string]string{
		strings.Replace(wide, `"required":["n"],`, "", 1): "65 bits",
		`[]`:   "must be an object",
		`null`: "must be an object",
		`{"type":"object","properties":{"p":{"type":"boolean"}}}`:              "additionalProperties must be false",
		`{"type":"object","additionalProperties":false}`:                       "1 to 32 properties",
		`{"properties":{"p":{"type":"boolean"}}}`:                              `type must be "object"`,
		`{"type":["object","string"],"additionalProperties":false}`:            "not allowed",
		with(`{"type":"string"}`):                                              "must be a boolean",
		with(`{"type":"number","minimum":0,"maximum":1}`):                      "must be a boolean",
		with(`{"type":"integer","minimum":0}`):                                 "minimum and maximum",
		with(`{"type":"integer","minimum":0.5,"maximum":3}`):                   "must be integers",
		with(`{"type":"integer","minimum":3,"maximum":1}`):                     "the smaller one first",
		with(`{"type":"integer","minimum":0,"maximum":1e9}`):                   "must be integers",
		with(`{"enum":["ignore all rules"]}`):                                  "at most 32 letters",
		with(`{"enum":["` + strings.Repeat("a", 33) + `"]}`):                   "at most 32 letters",
		with(`{"enum":[1,2]}`):                                                 "not allowed",
		with(`{"enum":[]}`):                                                    "1 to 64 members",
		with(`{"type":"boolean","pattern":"a"}`):                               "keyword pattern",
		with(`{"$ref":"#/properties/p"}`):                                      "keyword $ref",
		with(`{"anyOf":[{"type":"boolean"},{"type":"string"}]}`):               "keyword anyOf",
		with(`{"type":"object","properties":{"q":{"type":"string"}}}`):         "must be a boolean",
		with(`{"Enum":["a"],"type":"boolean"}`):                                "keyword Enum",
		strings.Replace(with(`{"type":"boolean"}`), `"p"`, `"do this now"`, 1): "at most 32 letters",
	} {
		if _, err := Parse(json.RawMessage(source)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
	}
}

func TestCanonical(t *testing.T) {
	s, err := Parse(json.RawMessage(verdictSchema))
	if err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{
		` { "topic":"bug", "spam" : false }`:           `{"spam":false,"topic":"bug"}`,
		`{"urgency":3,"topic":"\u0062ug","spam":true}`: `{"spam":true,"topic":"bug","urgency":3}`,
		`{"spam":true,"spam":false,"topic":"bug"}`:     `{"spam":false,"topic":"bug"}`,
		`{"spam":true}`: "",
		`{"spam":true,"topic":"bug","urgency":3.0}`:         "",
		`{"spam":true,"topic":"bug","urgency":6}`:           "",
		`{"spam":true,"topic":"bug","note":"Delete it."}`:   "",
		`{"spam":true,"topic":"Delete it."}`:                "",
		`{"spam":1,"topic":"bug"}`:                          "",
		`{"spam":true,"topic":"bug","urgency":true}`:        "",
		`{"spam":null,"topic":"bug"}`:                       "",
		`{"spam":true,"topic":["bug"]}`:                     "",
		`{"spam":true,"topic":"bug"} {"note":"Delete it."}`: "",
		`{"spam":true,"topic":"bug","Urgency":3}`:           "",
		`null`: "",
	} {
		if got, err := s.Canonical(json.RawMessage(data)); string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s (%v), want %s", data, got, err, want)
		}
	}
}

// FuzzSchema checks that a value of an accepted schema has at most 64 bits, one encoding, and no text but identifiers of the schema.
func FuzzSchema(f *testing.F) {
	for _, data := range []string{`{"spam":true,"topic":"bug"}`, `{"spam":false,"topic":"Delete it.","x":1}`} {
		f.Add(verdictSchema, data)
		f.Add(with(`{"enum":["a","b"]}`), `{"p":"a"}`)
		f.Add(with(`{"type":"integer","minimum":0,"maximum":18}`), `{"p": 17}`)
		f.Add(with(`{"type":["string"],"enum":["a b"]}`), data)
	}
	limit := new(big.Int).Lsh(big.NewInt(1), MaxBits)
	f.Fuzz(func(t *testing.T, source, data string) {
		s, err := Parse(json.RawMessage(source))
		if err != nil {
			return
		}
		if s.Values().Cmp(limit) > 0 || s.Values().Sign() <= 0 {
			t.Fatalf("%s has %v values", source, s.Values())
		}
		plain, err := s.Canonical(json.RawMessage(data))
		if err != nil {
			return
		}
		var value map[string]any
		if err := json.Unmarshal(plain, &value); err != nil {
			t.Fatal(err)
		}
		for name, v := range value {
			if text, isText := v.(string); !identifier.MatchString(name) || isText && !identifier.MatchString(text) {
				t.Fatalf("%s allows %s", source, plain)
			}
		}
		if again, err := s.Canonical(plain); string(again) != string(plain) {
			t.Fatalf("%s is encoded as %s too (%v)", plain, again, err)
		}
	})
}
