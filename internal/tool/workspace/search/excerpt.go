// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
)

// weighed is a line with the total weight of its terms.
type weighed struct {
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
	best := slices.SortedFunc(maps.Values(weigh(data, terms)), func(a, b weighed) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.start, b.start))
	})
	best = best[:min(limit, len(best))]
	slices.SortFunc(best, func(a, b weighed) int { return cmp.Compare(a.start, b.start) })
	lines := make([]Line, 0, len(best))
	for _, l := range best {
		number := 1 + bytes.Count(data[:l.start], []byte{'\n'})
		lines = append(lines, Line{Number: number, Text: show(data[l.start:l.end]), Match: true})
	}
	return lines
}

// weigh returns the lines that contain a term, by offset. A term counts once per line.
func weigh(data []byte, terms []term) map[int]weighed {
	lines := map[int]weighed{}
	for _, t := range terms {
		last := -1
		t.each(data, func(start, end int, strength float64) {
			begin := bytes.LastIndexByte(data[:start], '\n') + 1
			if begin == last {
				return
			}
			last = begin
			line, known := lines[begin]
			if !known {
				line = weighed{start: begin, end: indexByteFrom(data, '\n', end)}
			}
			line.weight += t.weight * strength
			lines[begin] = line
		})
	}
	return lines
}
