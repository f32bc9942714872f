// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"slices"
	"strings"
)

// nearest returns up to three names that a model may have meant by name.
func nearest(name string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	want := normalizeName(name)
	var near []candidate
	for _, n := range names {
		distance := editDistance(want, normalizeName(n))
		// A name that differs only in the server's prefix is a candidate at any distance.
		_, base, prefixed := strings.Cut(n, "__")
		sameBase := prefixed && normalizeName(base) != "" && strings.HasSuffix(want, normalizeName(base))
		if sameBase || distance <= max(2, len(want)/3) {
			near = append(near, candidate{n, distance})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	near = near[:min(3, len(near))]
	nearestNames := make([]string, len(near))
	for i, c := range near {
		nearestNames[i] = c.name
	}
	return nearestNames
}

// normalizeName removes differences in case and separators, which models confuse.
func normalizeName(name string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(strings.ToLower(name))
}

// editDistance returns the Levenshtein distance of two names in bytes. Only the beginning of a name counts, because a
// model may have written a name of any length.
func editDistance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substituted := diagonal
			if a[i] != b[j] {
				substituted++
			}
			diagonal = row[j+1]
			row[j+1] = min(substituted, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
