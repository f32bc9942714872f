// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// times formats how often and on which lines a passage occurs.
func times(text string, at []int) string {
	const most = 10
	shown := make([]string, 0, most)
	for _, i := range at[:min(len(at), most)] {
		shown = append(shown, fmt.Sprint(lineNumber(text, i)))
	}
	if len(at) > most {
		shown = append(shown, "...")
	}
	if len(at) == 1 {
		return "once, at line " + shown[0]
	}
	return fmt.Sprintf("%d times, at lines %s", len(at), strings.Join(shown, ", "))
}

func lineNumber(text string, offset int) int { return 1 + strings.Count(text[:offset], "\n") }

// notFound explains why a passage may not have been found.
func notFound(text, old string) error {
	if line, ok := looseMatch(text, old); ok {
		return fmt.Errorf("old_string does not occur, but the text at line %d is the same except for white space; read the file from there and copy it exactly", line)
	}
	if line, ok := firstLineMatch(text, old); ok {
		return fmt.Errorf("old_string does not occur; its first line is at line %d, but what follows differs; read the file from there and copy it exactly", line)
	}
	return errors.New("old_string does not occur in the file; read the file and copy the text exactly, without line numbers")
}

// looseMatch finds lines that equal those of old except for white space.
func looseMatch(text, old string) (line int, ok bool) {
	want := squeezedLines(old)
	for len(want) > 0 && want[len(want)-1] == "" {
		want = want[:len(want)-1]
	}
	if len(want) == 0 {
		return 0, false
	}
	have := squeezedLines(text)
	for i := 0; i+len(want) <= len(have); i++ {
		if slices.Equal(have[i:i+len(want)], want) {
			return i + 1, true
		}
	}
	return 0, false
}

func firstLineMatch(text, old string) (line int, ok bool) {
	first, _, several := strings.Cut(strings.TrimLeft(old, "\r\n"), "\n")
	first = strings.TrimSpace(first)
	if !several || first == "" {
		return 0, false
	}
	if i := strings.Index(text, first); i >= 0 {
		return lineNumber(text, i), true
	}
	return 0, false
}

func squeezedLines(text string) []string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return lines
}
