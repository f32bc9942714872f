// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"slices"
)

type GlobResult struct {
	Paths []string // sorted, at most the limit
	Total int      // number of all matching files
	// Unreadable counts the directories that could not be read.
	Unreadable int
}

// Glob lists the files that Include matches, up to limit.
func Glob(ctx context.Context, files Files, limit int) (GlobResult, error) {
	var workers []*[]string
	unreadable, err := files.walk(ctx, func() visitor {
		paths := &[]string{}
		workers = append(workers, paths)
		return func(f file) { *paths = append(*paths, f.path) }
	})
	if err != nil {
		return GlobResult{}, err
	}
	var all []string
	for _, paths := range workers {
		all = append(all, *paths...)
	}
	slices.Sort(all)
	result := GlobResult{Total: len(all), Unreadable: unreadable}
	result.Paths = all[:min(limit, len(all))]
	return result, nil
}
