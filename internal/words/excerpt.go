// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package words

import (
	"strings"
	"unicode/utf8"
)

// Part is a part of an excerpt.
type Part struct {
	Text string
	// Match reports that the part matches a term of the query.
	Match bool
}

// before is how much of an excerpt precedes the first match, in bytes.
const before = 60

// Excerpt returns up to about size bytes of a text from before the first place where terms match close to each other, as one
// line, and marks what matches. It is empty if nothing matches.
func Excerpt(text string, terms []Term, size int) []Part {
	var matches []Word
	for word := range Of(text) {
		if matchesAny(terms, word.Text) {
			matches = append(matches, word)
		}
	}
	first := densest(matches, terms, size-before)
	if first < 0 {
		return nil
	}
	start := boundary(text, max(0, matches[first].Start-before))
	end := boundary(text, min(len(text), start+size))
	end = max(end, matches[first].End)
	var parts []Part
	add := func(from, to int, match bool) {
		if to > from {
			parts = append(parts, Part{Text: oneLine(text[from:to]), Match: match})
		}
	}
	at := start
	for _, m := range matches {
		if m.End <= at || m.Start < start {
			continue
		}
		if m.End > end {
			break
		}
		if m.Start < at { // pairs of characters overlap
			parts[len(parts)-1].Text += text[at:m.End]
		} else {
			add(at, m.Start, false)
			add(m.Start, m.End, true)
		}
		at = m.End
	}
	add(at, end, false)
	if start > 0 {
		parts = append([]Part{{Text: "…"}}, parts...)
	}
	if end < len(text) {
		parts = append(parts, Part{Text: "…"})
	}
	return parts
}

func matchesAny(terms []Term, word string) bool {
	for _, t := range terms {
		if t.Matches(word) {
			return true
		}
	}
	return false
}

// densest returns the first match from which the most different terms match within a distance; -1 without matches.
func densest(matches []Word, terms []Term, distance int) int {
	best, most := -1, 0
	for i, first := range matches {
		if most == len(terms) {
			break
		}
		found := 0
		for _, t := range terms {
			for _, m := range matches[i:] {
				if m.Start > first.Start+distance {
					break
				}
				if t.Matches(m.Text) {
					found++
					break
				}
			}
		}
		if found > most {
			best, most = i, found
		}
	}
	return best
}

// boundary returns the start of the character at a position.
func boundary(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// oneLine replaces each space by one blank, and keeps that at the ends.
func oneLine(text string) string {
	line := strings.Join(strings.Fields(text), " ")
	if line == "" {
		return " "
	}
	if strings.TrimLeft(text, " \t\r\n") != text {
		line = " " + line
	}
	if strings.TrimRight(text, " \t\r\n") != text {
		line += " "
	}
	return line
}
