// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/internal/similar"
)

// maxCompared bounds the bytes of a name that are compared: a model may have written a name of any length.
const maxCompared = 64

// nearest returns up to three names that a model may have meant by name.
func nearest(name string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	wanted := normalizeName(name)
	beginning := wanted[:min(len(wanted), maxCompared)]
	var near []candidate
	for _, n := range names {
		folded := normalizeName(n)
		distance := similar.Distance(beginning, folded[:min(len(folded), maxCompared)])
		// A name that differs only in the server's prefix is a candidate at any distance.
		_, base, prefixed := strings.Cut(n, "__")
		sameBase := prefixed && normalizeName(base) != "" && strings.HasSuffix(wanted, normalizeName(base))
		if sameBase || distance <= max(2, len(wanted)/3) {
			near = append(near, candidate{n, distance})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	near = near[:min(3, len(near))]
	found := make([]string, len(near))
	for i, c := range near {
		found[i] = c.name
	}
	return found
}

// normalizeName removes differences in case and separators, which models confuse.
func normalizeName(name string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(strings.ToLower(name))
}
