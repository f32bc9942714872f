// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package similar suggests names for a mistyped one.
package similar

import (
	"cmp"
	"slices"
	"strings"
)

// maxSuggestions is how many similar names are suggested.
const maxSuggestions = 3

// DidYouMean returns "; did you mean A or B?" with the candidates that are similar to a name, the most similar first, or "".
func DidYouMean(name string, candidates []string) string {
	type match struct {
		name     string
		distance int
	}
	var matches []match
	for _, candidate := range candidates {
		distance := editDistance(strings.ToLower(name), strings.ToLower(candidate))
		begins := len(name) >= 3 && strings.HasPrefix(candidate, name)
		if distance < len(name) && distance <= max(1, len(name)/3) || begins {
			matches = append(matches, match{candidate, distance})
		}
	}
	if len(matches) == 0 {
		return ""
	}
	slices.SortFunc(matches, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, m := range matches[:min(len(matches), maxSuggestions)] {
		names = append(names, m.name)
	}
	return "; did you mean " + strings.Join(slices.Compact(names), " or ") + "?"
}

// editDistance returns how many insertions, deletions, substitutions and swaps of neighbours turn a into b.
func editDistance(a, b string) int {
	var before []int // the row before the last one
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
