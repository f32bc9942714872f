// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for name, test := range map[string]struct {
		file, source string
		want         []string
	}{
		"a comment over lines": {"a.go", "package a\n\n// It reports that\n// the agent goes\n// on.\nvar x = 1 // at work\n", []string{`a.go:4: "goes on"`, `a.go:6: "at work"`}},
		"a string":             {"a.go", "package a\n\nvar x = `one\nin place of two`\n", []string{`a.go:4: "in place of"`}},
		"an import":            {"a.go", "package a\n\nimport _ \"for good\"\n", nil},
		"a verb of perception": {"a.go", "package a\n\n// The server knows it.\n", []string{`a.go:3: "server knows"`}},
		"a name":               {"a.go", "package a\n\ntype chatStandstill struct{ hindered bool }\n", []string{`a.go:3: "Standstill"`, `a.go:3: "hindered"`}},
		"words of a model":     {"a_test.go", "package a\n\nvar x = \"nobody\"\n", nil},
		"a spec's title":       {"a_test.go", "package a\n\nvar _ = It(\"is told\", \"is told\")\n", []string{`a_test.go:3: "is told"`}},
		"a long test name":     {"a_test.go", "package a\n\nfunc TestOneTwoThreeFourFiveSixSevenEight() {}\n", []string{`a_test.go:3: "Test One`}},
		"a test name":          {"a_test.go", "package a\n\nfunc TestOneTwoThreeFourFiveSixSeven() {}\n", nil},
		"a sentence as a name": {"a_test.go", "package a\n\nfunc TestWhatIsKept() {}\n", []string{`a_test.go:3: "Test What Is Kept"`}},
		"a package of tests":   {"internal/apitest/a.go", "package a\n\nvar x = \"nobody\"\n", nil},
		"a file with an error": {"a.go", "package", []string{`a.go:1: "a.go:1:8: expected`}},
		"a page":               {"a.md", "Text.\n`nobody`\n```\nat work\n```\nIt is told.\n", []string{`a.md:6: "is told"`}},
		"the web page":         {"a.ts", "// It also if\nconst a = 'rights';\n", []string{`a.ts:1: "also if"`, `a.ts:2: "rights"`}},
		"a subject":            {"-", "engine: route answers by root UID\n", nil},
		"no area":              {"-", "Route answers\n", []string{`-:1: "Route answers"`}},
		"an upper-case area":   {"-", "Engine: route answers\n", []string{`-:1: "Engine: route answers"`}},
		"a long subject":       {"-", "engine: " + strings.Repeat("a", 65) + "\n", []string{`-:1: "engine: aaa`}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if n := check(&out, test.file, []byte(test.source)); n != len(test.want) {
				t.Fatalf("%d findings, want %d:\n%s", n, len(test.want), &out)
			}
			for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n")[:len(test.want)] {
				if !strings.HasPrefix(line, strings.TrimSuffix(test.want[i], `"`)) || !strings.Contains(line, ": write ") {
					t.Errorf("line %d is %q, want %s", i, line, test.want[i])
				}
			}
		})
	}
}
