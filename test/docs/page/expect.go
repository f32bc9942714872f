// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"regexp"
	"strings"
)

// Texts that differ between runs and their placeholders: ages, and generated name suffixes.
var variablePatterns = []struct {
	what *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`\b(\d+d)?(\d+h)?(\d+m)?\d+(\.\d+)?(ms|s|m|h|d)\b`), "<age>"},
	{regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "-<made up>"},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`(?m) $`), ""},
}

// Matches reports whether a command printed what a page shows. In the page "..." stands for anything within a line,
// and on a separate line for any number of lines.
func Matches(want, got string) bool {
	return matchLines(strings.Split(normalize(want), "\n"), strings.Split(normalize(got), "\n"))
}

func normalize(text string) string {
	text = strings.TrimSpace(text)
	for _, d := range variablePatterns {
		text = d.what.ReplaceAllString(text, d.as)
	}
	return text
}

func matchLines(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] == "..." {
		for skipped := range len(got) + 1 {
			if matchLines(want[1:], got[skipped:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && matchLine(want[0], got[0]) && matchLines(want[1:], got[1:])
}

func matchLine(want, got string) bool {
	pieces := strings.Split(want, "...")
	if len(pieces) == 1 {
		return want == got
	}
	if !strings.HasPrefix(got, pieces[0]) {
		return false
	}
	got = got[len(pieces[0]):]
	for _, piece := range pieces[1 : len(pieces)-1] {
		at := strings.Index(got, piece)
		if at < 0 {
			return false
		}
		got = got[at+len(piece):]
	}
	return strings.HasSuffix(got, pieces[len(pieces)-1])
}
