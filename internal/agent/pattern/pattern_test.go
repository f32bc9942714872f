// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPatterns(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"docs/*", "docs/a.md", true},
		{"docs/*", "docs/", true},
		{"docs/*", "docs/deep/a.md", true},
		{"docs/*", "src/docs/a.md", false},
		{"docs/*", "docs", false},
		{"*.md", "docs/a.md", true},
		{"*.md", "a.md.exe", false},
		{"a*b*c", "a--b--c", true},
		{"a*b*c", "a--c--b", false},
		{"a*a", "a", false}, // the beginning and the end do not overlap
		{"**", "anything at all", true},
		{"*", "", true},
		{"", "", true},
		{"", "a", false},
		{"docs/a.md", "docs/a.md", true},
		{"docs/a.md", "docs/axmd", false},
		{"DOCS/*", "docs/a", false},
		// A value with an asterisk is quoted, and then matches only itself.
		{`rm \*.tmp`, "rm *.tmp", true},
		{`rm \*.tmp`, "rm -rf / x.tmp", false},
		{`a\\*`, `a\b`, true},
		{`a\`, `a\`, true},
		// Leaving the directory.
		{"docs/*", "docs/../secret", false},
		{"docs/*", "docs/..", false},
		{"docs/*", `docs/..\secret`, false},
		{"docs/*", "docs/%2e%2E/secret", false},
		{"docs/*", "docs/%2e%2e%2fsecret", false},
		{"docs/*", "docs/..%5csecret", false},
		{"docs/*", "docs/a..b", true},
		{"docs/../*", "docs/../a", false},
		// Running something else.
		{"go test *", "go test ./...", true},
		{"go test *", "go test ./...; rm -rf /", false},
		{"go test *", "go test ./... && rm -rf /", false},
		{"go test *", "go test ./... | sh", false},
		{"go test *", "go test $(rm -rf /)", false},
		{"go test *", "go test `rm`", false},
		{"go test *", "go test > /etc/passwd", false},
		{"go test *", "go test ./...\nrm -rf /", false},
		{"go test *", "go test \x00", false},
		{"go test *", "go test \uFFFD", false},
		{"make * | tee *", "make all | tee log", true},
		{"make * | tee *", "make all | sh | tee log", false},
		{"make all; make test", "make all; make test", true}, // without * the text is exact
	} {
		if got := matches(tc.pattern, tc.text); got != tc.want {
			t.Errorf("%q matches %q: %t", tc.pattern, tc.text, got)
		}
	}
}

func TestAmbiguousArgumentsMatchNothing(t *testing.T) {
	path := []Argument{{Name: "path", Pattern: "*"}}
	for arguments, want := range map[string]bool{
		`{"path":"a"}`:               true,
		`{"path":"a","content":7}`:   true,
		`{"path":"a","path":"b"}`:    false,
		`{"path":"a","Path":"b"}`:    false,
		`{"path":"a","PATH":1}`:      false,
		`{"Path":"a"}`:               false,
		`{"p\u0061th":"a"}`:          true,
		`{"path":"a","p\u0061th":1}`: false,
		`{"path":["a"]}`:             false,
		`{"path":null}`:              false,
		`{}`:                         false,
		`{"path":"a"`:                false,
		`["path"]`:                   false,
		"{\"path\":\"\xff\"}":        false,
		`{"path":"\ud800"}`:          false, // half of a pair
	} {
		if got := Match(path, arguments); got != want {
			t.Errorf("%s matches: %t", arguments, got)
		}
	}
	if s := []Argument{{Name: "s", Pattern: "*"}}; Match(s, `{"s":"a","\u017f":"b"}`) {
		t.Error("names that some programs read as one name match")
	}
	if !Match(nil, `{"path":7}`) {
		t.Error("an allowance without patterns does not cover every call of its tool")
	}
}

// FuzzPatterns checks that * never stands for what a person who reads the pattern would not expect.
func FuzzPatterns(f *testing.F) {
	f.Add("docs/", "a.md")
	f.Add("docs/", "../secret")
	f.Add("go test ", "; rm -rf /")
	f.Fuzz(func(t *testing.T, prefix, rest string) {
		quoted := strings.NewReplacer(`\`, `\\`, "*", `\*`).Replace(prefix)
		if utf8.ValidString(prefix) && matches(quoted, prefix+rest) != (rest == "") {
			t.Errorf("%q matches %q", quoted, prefix+rest)
		}
		if matches(quoted+"*", prefix+rest) && (strings.ContainsAny(rest, ";&|<>$`\n\r\x00") || slices.Contains(strings.Split(prefix+rest, "/"), "..")) {
			t.Errorf("%q* matches %q", quoted, prefix+rest)
		}
	})
}
