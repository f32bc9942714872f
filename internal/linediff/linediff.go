// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package linediff compares two texts by lines.
package linediff

import (
	"fmt"
	"strings"
)

// context is the number of unchanged lines around a change.
const context = 3

// maxEdits bounds the search for the shortest difference, whose time and memory grow with the square of the number of changed lines. A
// larger difference is correct, but not the shortest.
const maxEdits = 1000

// Unified returns the hunks of a unified diff between two texts, without a head that names files. It is empty if the texts are equal.
func Unified(before, after string) string {
	if before == after {
		return ""
	}
	return format(compare(withoutEnd(strings.SplitAfter(before, "\n")), withoutEnd(strings.SplitAfter(after, "\n"))))
}

// Signs returns how a list of texts becomes another: ' ' for an element of both, '-' for one of only the first and '+' for one of only the
// second.
func Signs(before, after []string) string {
	var signs strings.Builder
	for _, l := range compare(before, after) {
		signs.WriteByte(l.sign)
	}
	return signs.String()
}

// line is a line of a comparison: sign is ' ', '-' or '+'.
type line struct {
	sign byte
	text string
}

func compare(a, b []string) []line {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	lines := appendAll(nil, ' ', a[:head])
	lines = append(lines, shortest(a[head:len(a)-tail], b[head:len(b)-tail])...)
	return appendAll(lines, ' ', a[len(a)-tail:])
}

// withoutEnd removes the empty text after the last line break.
func withoutEnd(lines []string) []string {
	if n := len(lines); lines[n-1] == "" {
		return lines[:n-1]
	}
	return lines
}

func appendAll(lines []line, sign byte, texts []string) []line {
	for _, text := range texts {
		lines = append(lines, line{sign, text})
	}
	return lines
}

// shortest returns a shortest difference, by the algorithm of Myers ("An O(ND) Difference Algorithm and Its Variations", 1986): furthest[k]
// is the furthest position in a on the diagonal k that the edits so far reach.
func shortest(a, b []string) []line {
	furthest := map[int]int{1: 0}
	var history []map[int]int
	for edits := 0; edits <= min(len(a)+len(b), maxEdits); edits++ {
		reached := make(map[int]int, edits+2)
		for k := -edits; k <= edits; k += 2 {
			x := furthest[k-1] + 1
			if k == -edits || (k != edits && furthest[k-1] < furthest[k+1]) {
				x = furthest[k+1]
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			reached[k] = x
			if x >= len(a) && x-k >= len(b) {
				return backtrack(a, b, append(history, furthest), edits)
			}
		}
		history = append(history, furthest)
		furthest = reached
	}
	return appendAll(appendAll(nil, '-', a), '+', b)
}

// backtrack follows the edits from the end to the beginning.
func backtrack(a, b []string, history []map[int]int, edits int) []line {
	var reversed []line
	x, y := len(a), len(b)
	for ; edits >= 0; edits-- {
		furthest, k := history[edits], x-y
		from := k - 1
		if k == -edits || (k != edits && furthest[k-1] < furthest[k+1]) {
			from = k + 1
		}
		fromX := furthest[from]
		fromY := fromX - from
		for x > fromX && y > fromY && x > 0 && y > 0 {
			x, y = x-1, y-1
			reversed = append(reversed, line{' ', a[x]})
		}
		switch {
		case edits == 0:
		case x == fromX:
			y--
			reversed = append(reversed, line{'+', b[y]})
		default:
			x--
			reversed = append(reversed, line{'-', a[x]})
		}
	}
	lines := make([]line, 0, len(reversed))
	for i := len(reversed) - 1; i >= 0; i-- {
		lines = append(lines, reversed[i])
	}
	return lines
}

// format writes the lines around changes as hunks.
func format(lines []line) string {
	var out strings.Builder
	before, after := 1, 1
	for i := 0; i < len(lines); {
		start, end := nextHunk(lines, i)
		if start == len(lines) {
			break
		}
		before, after = before+start-i, after+start-i // only unchanged lines are between hunks
		writeHunk(&out, lines[start:end], &before, &after)
		i = end
	}
	return out.String()
}

// nextHunk returns the next lines from i on that have changes, with the unchanged lines around them.
func nextHunk(lines []line, i int) (start, end int) {
	first := i
	for first < len(lines) && lines[first].sign == ' ' {
		first++
	}
	if first == len(lines) {
		return first, first
	}
	end = first
	for next := first; next < len(lines) && next <= end+1+2*context; next++ {
		if lines[next].sign != ' ' {
			end = next
		}
	}
	return max(i, first-context), min(len(lines), end+1+context)
}

func writeHunk(out *strings.Builder, lines []line, before, after *int) {
	removed, added := 0, 0
	for _, l := range lines {
		if l.sign != '+' {
			removed++
		}
		if l.sign != '-' {
			added++
		}
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(*before, removed), span(*after, added))
	*before, *after = *before+removed, *after+added
	for _, l := range lines {
		out.WriteByte(l.sign)
		out.WriteString(l.text)
		if !strings.HasSuffix(l.text, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// span returns the first line and the number of lines of a side. The first line of an empty side is the one before it.
func span(first, count int) string {
	switch count {
	case 0:
		return fmt.Sprintf("%d,0", first-1)
	case 1:
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d,%d", first, count)
}
