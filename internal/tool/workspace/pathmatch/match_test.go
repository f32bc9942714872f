// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package pathmatch_test

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/tool/workspace/pathmatch"
)

func TestGlobMatches(t *testing.T) {
	for _, c := range []struct{ pattern, yes, no string }{
		{"*.go", "a.go x/y/b.go", "a.gox go x.go/y"},
		{"/*.go", "a.go", "x/a.go"},
		{"src/*.go", "src/a.go", "src/x/a.go a.go x/src/a.go"},
		{"src/**/*.go", "src/a.go src/x/a.go src/x/y/a.go", "a.go src/a.ts"},
		{"**/test/**", "test/a x/test/a x/test/y/a", "test x/test"},
		{"**", "a a/b", ""},
		{"*.{js,ts}", "a.js x/a.ts", "a.go"},
		{"{a,b/{c,d}}/*", "a/x b/c/x b/d/x", "b/x c/x"},
		{"x{,y}", "x xy", "xz"},
		{"[a-c]?", "ab cx", "a d1 abc"},
		{`\*.go`, "*.go", "a.go"},
		{`\{a`, "{a", "a"},
		{"a{b", "a{b", "ab"},
		{"./a", "a", "b"},
	} {
		g, err := pathmatch.CompileGlob(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		for p := range strings.FieldsSeq(c.yes) {
			if !g.Match(p) {
				t.Errorf("%s does not match %s", c.pattern, p)
			}
		}
		for p := range strings.FieldsSeq(c.no) {
			if g.Match(p) {
				t.Errorf("%s matches %s", c.pattern, p)
			}
		}
	}
}

func TestInvalidGlobsAreRejected(t *testing.T) {
	for _, pattern := range []string{"", strings.Repeat("{a,b}", 20)} {
		if _, err := pathmatch.CompileGlob(pattern); err == nil {
			t.Errorf("%q was accepted", pattern)
		}
	}
}

// TestNamesAgreeWithStandardLibrary: for single names without escapes the standard library has the same rules.
func TestNamesAgreeWithStandardLibrary(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", "*", "?", "[ab]", "[^a]", "[a-c]", "c"})
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(part, 0, 8).Draw(t, "parts"), "")
		name := rapid.StringMatching(`[abc]{0,10}`).Draw(t, "name")
		want, err := path.Match(pattern, name)
		if err != nil {
			t.Fatal(err)
		}
		if got := pathmatch.CompileName(pattern).Match(name); got != want {
			t.Fatalf("%q on %q: %v, want %v", pattern, name, got, want)
		}
	})
}

// TestHardPatternsAreFast uses patterns for which backtracking matchers need exponential time.
func TestHardPatternsAreFast(t *testing.T) {
	name := strings.Repeat("a", 4000)
	if pathmatch.CompileName(strings.Repeat("*a", 200) + "b").Match(name) {
		t.Error("matched")
	}
	deep := strings.Repeat("a/", 500) + "c"
	if pathmatch.CompilePath(strings.Repeat("**/a/", 100) + "b").Match(deep) {
		t.Error("matched")
	}
}
