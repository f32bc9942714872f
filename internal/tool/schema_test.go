// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/tool"
)

func TestInvalidSchemasAreRejected(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(secret, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, parameters := range map[string]string{
		"not JSON":           `{`,
		"not an object":      `[]`,
		"of a string":        `{"type":"string"}`,
		"of several types":   `{"type":["object","null"]}`,
		"unknown type":       `{"properties":{"a":{"type":"text"}}}`,
		"reads a file":       `{"properties":{"a":{"$ref":"file://` + secret + `"}}}`,
		"opens a connection": `{"properties":{"a":{"$ref":"http://127.0.0.1:1/schema"}}}`,
		"dangling reference": `{"properties":{"a":{"$ref":"#/$defs/none"}}}`,
		"huge number":        `{"properties":{"a":{"minimum":1e999999}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tool.New(tool.Spec{Name: "t", Parameters: json.RawMessage(parameters)}, answerWith(""))
			if err == nil {
				t.Errorf("schema %s was accepted", parameters)
			}
		})
	}
}

func TestSchemasOfOtherDraftsAndDialects(t *testing.T) {
	for name, parameters := range map[string]string{
		"draft 4":     `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","required":["a"]}`,
		"draft 7":     `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["a"]}`,
		"2019-09":     `{"$schema":"https://json-schema.org/draft/2019-09/schema","required":["a"]}`,
		"2020-12":     `{"$schema":"https://json-schema.org/draft/2020-12/schema","required":["a"]}`,
		"no type":     `{"required":["a"]}`,
		"unnamed":     `{"$id":"https://example.com/a","required":["a"]}`,
		"own keyword": `{"required":["a"],"x-order":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			set := makeSet(t, makeTool(t, tool.Spec{Name: "t", Parameters: json.RawMessage(parameters)}, answerWith("ran")))
			if result := execute(t, set, "t", `{}`); result.Failure != tool.InvalidArguments {
				t.Errorf("a missing property was accepted: %+v", result)
			}
			if result := execute(t, set, "t", `{"a":1}`); result.Failure != tool.NoFailure {
				t.Errorf("fitting arguments were refused: %s", result.Text)
			}
		})
	}
}

// TestParametersAreNormalizedForProviders: providers reject a tool whose parameters are not an object with
// properties.
func TestParametersAreNormalizedForProviders(t *testing.T) {
	for parameters, want := range map[string]string{
		``:                  `{"properties":{},"type":"object"}`,
		`{"type":"object"}`: `{"properties":{},"type":"object"}`,
		` {"properties": {"a": {"maximum": 10000000000000000000001}}} `: `{"properties":{"a":{"maximum":10000000000000000000001}},"type":"object"}`,
	} {
		made := makeTool(t, tool.Spec{Name: "t", Parameters: json.RawMessage(parameters)}, answerWith(""))
		if got := string(made.Spec().Parameters); got != want {
			t.Errorf("%q becomes %s, want %s", parameters, got, want)
		}
	}
}

// TestPatternsUnknownToGo: an ECMAScript-only pattern must not withhold the tool.
func TestPatternsUnknownToGo(t *testing.T) {
	parameters := `{"properties":{"a":{"type":"string","pattern":"^(?!x)"}}}`
	set := makeSet(t, makeTool(t, tool.Spec{Name: "t", Parameters: json.RawMessage(parameters)}, answerWith("ran")))
	if result := execute(t, set, "t", `{"a":"xyz"}`); result.Text != "ran" {
		t.Errorf("got %q, want the tool to run", result.Text)
	}
}

func TestUnsupportedNamesAreRefused(t *testing.T) {
	for _, name := range []string{"", "a b", "a.b", "a/b", "naïve", strings.Repeat("x", 65)} {
		if _, err := tool.New(tool.Spec{Name: name}, answerWith("")); err == nil {
			t.Errorf("the name %q was accepted", name)
		}
	}
}
