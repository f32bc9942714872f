// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func matchingLines(m *matcher, text string) []int {
	var numbers []int
	m.lines([]byte(text), func(start, end int) bool {
		numbers = append(numbers, 1+strings.Count(text[:start], "\n"))
		if strings.Contains(text[start:end], "\n") {
			numbers = append(numbers, -1)
		}
		return true
	})
	return numbers
}

// regexpLines returns the same numbers computed with package regexp, line by line.
func regexpLines(re *regexp.Regexp, text string) []int {
	var numbers []int
	lines := strings.Split(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for i, line := range lines {
		if re.MatchString(line) {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

const sample = "alpha beta\n\nAlphaBeta\nKelvin \u212a sign, long \u017f\nerr := json.Unmarshal()\nfoo_bar fooBar foo-bar\n  \ttabs\n\xff\xfe invalid\nüber Straße\nx\nlast line"

func TestMatcherAgreesWithRegexp(t *testing.T) {
	for _, expression := range []string{
		"alpha", "(?i)ALPHA", "(?i)kelvin", "(?i)sign", "(?i)sk", "^$", "^", "$", "x*", "^x$", `\bfoo\b`, `\Bbar`, `foo.bar`, "[^a]", `\s+tabs`, `err\s*:=`, `(foo|bar|x)y?`, `\x{fffd}`,
		"ü", "(?i)ÜBER", `\w+ße`, "(?s).", `[[:upper:]][[:lower:]]+`, `a{2,3}|e{1}`, `\Alast`, `line\z`, "(?:alpha|beta) (?:alpha|beta)", `(?i)[a-z]+\.unmarshal`, "()", "a|", "[^\\n]x?$", `\pL+`,
	} {
		t.Run(expression, func(t *testing.T) {
			pattern, err := CompilePattern(expression, false, false)
			if err != nil {
				t.Fatal(err)
			}
			m := newMatcher(pattern)
			for _, text := range []string{sample, sample + "\n", "", "\n", "\n\n", "x", "alpha"} {
				if diff := cmp.Diff(regexpLines(regexp.MustCompile(expression), text), matchingLines(m, text)); diff != "" {
					t.Errorf("lines of %q (-regexp +matcher):\n%s", text, diff)
				}
			}
		})
	}
}

func TestMatcherAgreesOnRandomPatterns(t *testing.T) {
	atom := rapid.SampledFrom([]string{"a", "b", "ab", "abc", "(?i:ab)", "(?i:sk)", "[ab]", "[^a]", ".", `\b`, `\B`, "^", "$", "é", `\w`, `\s`, "(a|bc)", "(ab|cd)", "(?:a|)", "(?i:é)"})
	repeat := rapid.SampledFrom([]string{"", "", "", "*", "+", "?", "{2}", "{1,3}"})
	text := rapid.StringOfN(rapid.SampledFrom([]rune("aaabbcdAB é\nskSK\u212a_ \n")), 0, 60, -1)
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(1, 5).Draw(t, "atoms") {
			b.WriteString("(?:" + atom.Draw(t, "atom") + ")" + repeat.Draw(t, "repeat"))
			if rapid.IntRange(0, 5).Draw(t, "or") == 0 {
				b.WriteString("|")
			}
		}
		pattern, err := CompilePattern(b.String(), false, false)
		if err != nil {
			t.Fatal(err)
		}
		re := regexp.MustCompile(b.String())
		m := newMatcher(pattern)
		for range 3 {
			text := text.Draw(t, "text")
			if diff := cmp.Diff(regexpLines(re, text), matchingLines(m, text)); diff != "" {
				t.Fatalf("%q in %q (-regexp +matcher):\n%s", b.String(), text, diff)
			}
		}
	})
}

// TestAutomatonWithTooManyStates uses a pattern whose automaton has more than maxStates states.
func TestAutomatonWithTooManyStates(t *testing.T) {
	const expression = `[ab]*a[ab]{14}c`
	pattern, err := CompilePattern(expression, false, false)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	bits := uint32(1)
	for i := range 60_000 {
		bits = bits*1664525 + 1013904223
		b.WriteByte("ab"[bits>>31])
		if i%100 == 99 {
			b.WriteString("c\n")
		}
	}
	m := newMatcher(pattern)
	if diff := cmp.Diff(regexpLines(regexp.MustCompile(expression), b.String()), matchingLines(m, b.String())); diff != "" {
		t.Errorf("lines (-regexp +matcher):\n%s", diff)
	}
	if len(m.automaton.states) > maxStates {
		t.Errorf("%d states are kept", len(m.automaton.states))
	}
}

func TestRequiredTextIsFound(t *testing.T) {
	for expression, want := range map[string]string{
		"hello": "hello", `func \w+Handler\(`: "Handler(", "(foo|bar)baz": "baz", "foo|bar": "foo bar", "(?i)Error": "error", "a*": "", "x?hello+": "hell", "(abc){2}": "abc", "[abc]": "", "ab|c*": "", "(?i)straße": "stra",
	} {
		pattern, err := CompilePattern(expression, false, false)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]string, 0, len(pattern.needles))
		for _, n := range pattern.needles {
			got = append(got, string(n.text))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s requires %q, want %q", expression, got, want)
		}
	}
}

func TestIdentifiersAreSplit(t *testing.T) {
	for identifier, want := range map[string]string{
		"getUserName": "get User Name", "user_name": "user name", "HTTPServer": "HTTP Server", "parseURL": "parse URL", "X": "X", "SNAKE_CASE": "SNAKE CASE", "utf8String": "utf 8 String", "_private": "private", "plain": "plain",
	} {
		if got := strings.Join(splitIdentifier(identifier), " "); got != want {
			t.Errorf("%s is split into %q, want %q", identifier, got, want)
		}
	}
}
