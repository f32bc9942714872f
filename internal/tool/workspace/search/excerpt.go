// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
)

type scoredLine struct {
	start, end int
	weight     float64
}

// bestLines returns the lines of a file with the highest weights, in file order. A file that can no longer be read
// has none.
func bestLines(files Files, path string, terms []term, limit int) []Line {
	data, err := files.Root.ReadFile(path, files.MaxFileBytes)
	if err != nil {
		return nil
	}
	best := slices.SortedFunc(maps.Values(scoreLines(data, terms)), func(a, b scoredLine) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.start, b.start))
	})
	best = best[:min(limit, len(best))]
	slices.SortFunc(best, func(a, b scoredLine) int { return cmp.Compare(a.start, b.start) })
	lines := make([]Line, 0, len(best))
	for _, l := range best {
		number := 1 + bytes.Count(data[:l.start], []byte{'\n'})
		lines = append(lines, Line{Number: number, Text: displayLine(data[l.start:l.end]), Match: true})
	}
	return lines
}

// scoreLines returns the lines that contain a term, by offset. A term counts once per line.
func scoreLines(data []byte, terms []term) map[int]scoredLine {
	lines := map[int]scoredLine{}
	for _, t := range terms {
		last := -1
		t.each(data, func(start, end int, strength float64) {
			begin := bytes.LastIndexByte(data[:start], '\n') + 1
			if begin == last {
				return
			}
			last = begin
			line, ok := lines[begin]
			if !ok {
				line = scoredLine{start: begin, end: indexByteFrom(data, '\n', end)}
			}
			line.weight += t.weight * strength
			lines[begin] = line
		})
	}
	return lines
}
