// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestPhrasesAreFoundWhereProseIs(t *testing.T) {
	const source = "package a\n\n// It reports that\n// the agent goes\n// on.\nconst s = `nobody`\n\nvar x = 1 // at work\n"
	const page = "Text.\n`nobody`\n```\nat work\n```\nIt is told.\n"
	for name, test := range map[string]struct {
		source string
		want   []string
	}{
		"a.go": {source, []string{`a.go:4: "goes on"`, `a.go:8: "at work"`}},
		"a.md": {page, []string{`a.md:6: "is told"`}},
	} {
		var out bytes.Buffer
		if n := check(&out, rules(), name, []byte(test.source)); n != len(test.want) {
			t.Errorf("%s: %d phrases, want %d:\n%s", name, n, len(test.want), &out)
		}
		lines := strings.Split(out.String(), "\n")
		for i, want := range test.want {
			if !strings.HasPrefix(lines[i], want+": write ") {
				t.Errorf("%s: line %d is %q, want %s", name, i, lines[i], want)
			}
		}
	}
}
