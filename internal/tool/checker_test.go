// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/tool"
)

func TestCheckerDescribesViolations(t *testing.T) {
	const schema = `{"type":"object","required":["path"],"properties":{"path":{"type":"string"}},"additionalProperties":false}`
	var checker tool.Checker
	for arguments, want := range map[string]string{
		`{"path":"a"}`:               "",
		`{"path":7}`:                 "/path: got number, want string",
		`{}`:                         "missing property 'path'",
		``:                           "missing property 'path'",
		`{"path":"a","path":"b"}`:    `has the key "path" twice`,
		`["a"]`:                      "expected a JSON object",
		`{"path":"a"`:                "it ends too early",
		`{"path":"a","mode":"fast"}`: "additional properties 'mode' not allowed",
	} {
		problem, err := checker.Problem(t.Context(), "read", json.RawMessage(schema), json.RawMessage(arguments))
		if err != nil || (problem == "") != (want == "") || !strings.Contains(problem, want) {
			t.Errorf("%s: %q, want %q", arguments, problem, want)
		}
	}
}

// TestUnusableSchemaAllowsEveryObject checks that arguments must still be an object.
func TestUnusableSchemaAllowsEveryObject(t *testing.T) {
	var checker tool.Checker
	for name, schema := range map[string]string{
		"none": "", "no JSON": "{", "no object": `"string"`, "another type": `{"type":"array"}`, "a bad reference": `{"$ref":"https://example.com/s.json"}`,
		"a bad keyword": `{"required":7}`,
	} {
		if problem, err := checker.Problem(t.Context(), "t", json.RawMessage(schema), json.RawMessage(`{"b":1}`)); err != nil || problem != "" {
			t.Errorf("%s: %s, %v", name, problem, err)
		}
		if problem, err := checker.Problem(t.Context(), "t", json.RawMessage(schema), json.RawMessage(`7`)); err != nil || problem == "" {
			t.Errorf("%s: a number was accepted as arguments", name)
		}
	}
}
