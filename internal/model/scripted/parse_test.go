// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted_test

import (
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/model/scripted"
)

func TestScriptErrorsHaveFileAndLine(t *testing.T) {
	for name, tc := range map[string]struct{ script, wantMessage string }{
		"empty":                      {"", "test.yaml: the script is empty"},
		"no rules":                   {"name: x", "test.yaml: the script has neither rules nor a fallback"},
		"two documents":              {"fallback: {}\n---\nfallback: {}", "test.yaml: a script is one YAML document"},
		"not YAML":                   {"name: x\nrules:\n\t- reply: {}", "test.yaml:3: found character that cannot start any token"},
		"a list":                     {"- a", "test.yaml:1: cannot unmarshal !!seq"},
		"an unknown field":           {"rules:\n- match:\n    rol: x\n  reply: {}", "test.yaml:3: field rol not found"},
		"an unknown field of reply":  {"rules:\n- reply:\n    text: x\n    txt: y", "test.yaml:4: field txt not found"},
		"an empty rule":              {"rules:\n- reply: {}\n-", "test.yaml:3: the rule is empty"},
		"a rule without reply":       {"rules:\n- reply: {}\n- match: {role: x}", "test.yaml:3: the rule has no reply"},
		"a bad expression":           {"rules:\n- match:\n    lastMessage: /(x/\n  reply: {}", "test.yaml:3: error parsing regexp: missing closing )"},
		"an empty pattern":           {"rules:\n- match:\n    lastMessage: ''\n  reply: {}", "test.yaml:3: the pattern is empty"},
		"a pattern that is a list":   {"rules:\n- match:\n    lastMessage: [a]\n  reply: {}", "test.yaml:3: a pattern must be a single value"},
		"a bad template":             {"rules:\n- reply:\n    text: '{{.x'", "test.yaml:3: template: text:1: unclosed action"},
		"a bad template in a call":   {"rules:\n- reply:\n    toolCalls:\n    - name: x\n      arguments:\n        deep: ['{{nope}}']", `test.yaml:6: template: text:1: function "nope" not defined`},
		"an alias in arguments":      {"rules:\n- reply:\n    toolCalls:\n    - name: x\n      arguments: &a {b: *a}", "test.yaml:5: arguments cannot refer to *a"},
		"a bad duration":             {"rules:\n- reply:\n    latency: 3", "test.yaml:3: \"3\" is not a duration"},
		"a negative duration":        {"rules:\n- reply:\n    latency: -3s", "test.yaml:3: \"-3s\" is not a duration"},
		"a bad status":               {"rules:\n- reply: {error: {status: 200}}", "test.yaml:2: error.status is 200"},
		"a bad raw status":           {"rules:\n- reply: {raw: {status: 999}}", "test.yaml:2: raw.status 999 is not an HTTP status"},
		"a bad fault":                {"rules:\n- reply: {fault: {kind: explode}}", "test.yaml:2: fault.kind is \"explode\""},
		"a reply of two kinds":       {"rules:\n- reply: {text: x, error: {status: 500}}", "test.yaml:2: a reply is either content"},
		"a negative chunk size":      {"rules:\n- reply: {chunkSize: -1}", "test.yaml:2: chunkSize is -1"},
		"negative times":             {"rules:\n- times: -1\n  reply: {}", "test.yaml:2: times is -1"},
		"a bad fallback":             {"fallback: {error: {status: 1}}", "test.yaml: fallback: error.status is 1"},
		"several mistakes at a time": {"rules:\n- match: {rol: x}\n  repl: {}", "test.yaml:3: field repl not found"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := scripted.Parse("test.yaml", []byte(tc.script))
			if err == nil || !strings.Contains(err.Error(), tc.wantMessage) {
				t.Errorf("got %v, want %q", err, tc.wantMessage)
			}
		})
	}
}

func TestMissingFilesAndNames(t *testing.T) {
	if _, err := scripted.Load(t.TempDir() + "/none.yaml"); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("got %v", err)
	}
	if _, err := scripted.Builtin("none"); err == nil || !strings.Contains(err.Error(), "there are ") {
		t.Errorf("got %v", err)
	}
}
