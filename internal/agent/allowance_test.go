// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestInvariant11AllowancesApproveOnlyWhatTheyCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawRun(t, func(s step) {
			for _, e := range s.effects {
				if send, ok := e.(SendItem); ok && send.Item.Kind == ItemDecision {
					checkDecision(t, s, send.Item)
				}
			}
			for _, ask := range s.after.Asks {
				covering, covered := s.after.allowanceFor(ask.Asked)
				if ask.Open && covered {
					t.Fatalf("%+v waits although %+v covers it", ask, covering)
				}
			}
			if len(s.after.Allowances) > MaxAllowances || len(s.after.Allowances) > 0 && s.after.Config.Kind != Orchestrator {
				t.Fatalf("%d allowances of a %s", len(s.after.Allowances), s.after.Config.Kind)
			}
		})
	})
}

// checkDecision implements the rules for the arguments of askedArguments a second time.
func checkDecision(t *rapid.T, s step, item Item) {
	i := slices.IndexFunc(s.after.Asks, func(a Ask) bool { return a.Agent == item.Agent && a.Call == item.Call })
	a := slices.IndexFunc(s.after.Allowances, func(a Allowance) bool { return a.Name == item.Allowance })
	if i < 0 || a < 0 {
		t.Fatalf("%v is for no ask, or by no allowance", item)
	}
	ask, allowance := s.after.Asks[i], s.after.Allowances[a]
	if ask.Kind != AskApproval || ask.Separation || ask.Open || allowance.Tool != ask.Tool || allowance.By != item.By || item.Digest != ask.Digest() {
		t.Fatalf("%v approves %+v by %+v", item, ask, allowance)
	}
	if len(allowance.Arguments) == 0 {
		return
	}
	matches := map[string][]string{"docs/*": {`{"path":"docs/a"}`}, "docs/a": {`{"path":"docs/a"}`}, "*": {`{"path":"docs/a"}`, `{"path":"secret"}`}}
	if pattern := allowance.Arguments[0].Pattern; !slices.Contains(matches[pattern], ask.Arguments) {
		t.Fatalf("%s matches %s", pattern, ask.Arguments)
	}
}

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
		if got := matchesPattern(tc.pattern, tc.text); got != tc.want {
			t.Errorf("%q matches %q: %t", tc.pattern, tc.text, got)
		}
	}
}

func TestAmbiguousArgumentsMatchNothing(t *testing.T) {
	path := []ArgumentPattern{{Name: "path", Pattern: "*"}}
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
		if got := MatchesArguments(path, arguments); got != want {
			t.Errorf("%s matches: %t", arguments, got)
		}
	}
	if s := []ArgumentPattern{{Name: "s", Pattern: "*"}}; MatchesArguments(s, `{"s":"a","\u017f":"b"}`) {
		t.Error("names that some programs read as one name match")
	}
	if !MatchesArguments(nil, `{"path":7}`) {
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
		if utf8.ValidString(prefix) && matchesPattern(quoted, prefix+rest) != (rest == "") {
			t.Errorf("%q matches %q", quoted, prefix+rest)
		}
		if matchesPattern(quoted+"*", prefix+rest) && (strings.ContainsAny(rest, ";&|<>$`\n\r\x00") || slices.Contains(strings.Split(prefix+rest, "/"), "..")) {
			t.Errorf("%q* matches %q", quoted, prefix+rest)
		}
	})
}

func TestAllowancesAreBounded(t *testing.T) {
	s, _ := Step(State{}, Event{At: 1, Fact: Started{Config: Config{Kind: Orchestrator, Name: "chat", MaxDepth: 2}}})
	for i := range MaxAllowances + 1 {
		s, _ = Step(s, Event{At: 2, Fact: Allowed{Message: "m" + strconv.Itoa(i), Tool: "bash", By: "alice"}})
	}
	if len(s.Allowances) != MaxAllowances || s.HasHandled("m"+strconv.Itoa(MaxAllowances)) {
		t.Errorf("%d allowances, the last message handled: %t", len(s.Allowances), s.HasHandled("m"+strconv.Itoa(MaxAllowances)))
	}
}
