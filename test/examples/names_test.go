// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var roleName = regexp.MustCompile(`(?m)^kind: AgentRole\nmetadata:(?:\n  | \{)name: ([a-z0-9-]+)`)

// TestExamplesReplaceNoRoles checks that applying an example changes no role of the demo, no built-in role and no role of another example.
func TestExamplesReplaceNoRoles(t *testing.T) {
	owner := map[string]string{}
	collect := func(pattern string, ownerOf func(path string) string) {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: found %d files: %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range roleName.FindAllStringSubmatch(string(text), -1) {
				name, mine := match[1], ownerOf(path)
				if other := owner[name]; other != "" && other != mine {
					t.Errorf("%s has the role %s, which %s has already", mine, name, other)
				}
				owner[name] = mine
			}
		}
	}
	builtin, err := filepath.Glob("../../internal/role/roles/*.md")
	if err != nil || len(builtin) == 0 {
		t.Fatalf("found %d built-in roles: %v", len(builtin), err)
	}
	for _, path := range builtin {
		if name := strings.TrimSuffix(filepath.Base(path), ".md"); name != "orchestrator" { // the demo adapts it
			owner[name] = "the operator"
		}
	}
	collect("../../internal/localmode/roles/*.yaml", func(string) string { return "the demo" })
	collect(filepath.Join(folder, "*", "*.yaml"), func(path string) string { return "the example " + filepath.Base(filepath.Dir(path)) })
}
