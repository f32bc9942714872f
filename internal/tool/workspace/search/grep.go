// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
)

type GrepQuery struct {
	Pattern *Pattern
	// Before and After are the numbers of context lines around a match.
	Before, After int
	// Limit is the maximum number of matching lines to return.
	Limit int
}

// GrepResult is the result of a search. Counts include matches beyond the limit.
type GrepResult struct {
	Files        []FileMatches // in the order of their paths
	Matches      int
	MatchedFiles int
	Skipped      Skipped
}

type FileMatches struct {
	Path  string
	Count int
	Lines []Line // empty if earlier files reached the limit
}

// Line is one line of a file, numbered from 1.
type Line struct {
	Number int
	Text   string
	Match  bool // false for context
}

// Skipped counts files that were not searched.
type Skipped struct {
	Binary, Large, Unreadable int
}

func (s *Skipped) add(other Skipped) {
	s.Binary += other.Binary
	s.Large += other.Large
	s.Unreadable += other.Unreadable
}

func (s *Skipped) count(err error) {
	switch {
	case errors.Is(err, fsroot.ErrSkipped):
		s.Binary++
	case errors.Is(err, fsroot.ErrTooLarge):
		s.Large++
	default:
		s.Unreadable++
	}
}

func Grep(ctx context.Context, files Files, query GrepQuery) (GrepResult, error) {
	var workers []*grepper
	unreadable, err := files.walk(ctx, func() visitor {
		g := &grepper{query: query, matcher: newMatcher(query.Pattern), limit: files.MaxFileBytes}
		workers = append(workers, g)
		return g.visit
	})
	if err != nil {
		return GrepResult{}, err
	}
	result := GrepResult{Skipped: Skipped{Unreadable: unreadable}}
	for _, g := range workers {
		result.Files = append(result.Files, g.files...)
		result.Skipped.add(g.skipped)
	}
	for _, f := range result.Files {
		result.Matches += f.Count
	}
	result.MatchedFiles = len(result.Files)
	truncateMatches(result.Files, query.Limit)
	return result, nil
}

type grepper struct {
	query     GrepQuery
	matcher   *matcher
	limit     int64
	buf       []byte
	spans     []span
	files     []FileMatches
	fileLines int // number of matching lines in files
	skipped   Skipped
}

type span struct{ start, end, number int }

func (g *grepper) visit(f file) {
	data, err := f.readText(g.buf, g.limit)
	g.buf = data
	if err != nil {
		g.skipped.count(err)
		return
	}
	matches := FileMatches{Path: f.path}
	g.spans = g.spans[:0]
	number, counted := 1, 0
	g.matcher.lines(data, func(start, end int) bool {
		matches.Count++
		if len(g.spans) < g.query.Limit {
			number += bytes.Count(data[counted:start], []byte{'\n'})
			counted = start
			g.spans = append(g.spans, span{start, end, number})
		}
		return true
	})
	if matches.Count == 0 {
		return
	}
	matches.Lines = withContext(data, g.spans, g.query.Before, g.query.After)
	g.files = append(g.files, matches)
	g.fileLines += len(g.spans)
	// Lines beyond the limit of this worker are beyond the overall limit.
	if g.fileLines > 4*g.query.Limit+1000 {
		truncateMatches(g.files, g.query.Limit)
		g.fileLines = g.query.Limit
	}
}

// truncateMatches sorts files by path and drops the lines after the first limit matches.
func truncateMatches(files []FileMatches, limit int) {
	slices.SortFunc(files, func(a, b FileMatches) int { return cmp.Compare(a.Path, b.Path) })
	for i := range files {
		files[i].Lines = cutLines(files[i].Lines, &limit)
	}
}

func cutLines(lines []Line, left *int) []Line {
	if *left == 0 {
		return nil
	}
	for i, line := range lines {
		if !line.Match {
			continue
		}
		if *left == 0 {
			return lines[:i]
		}
		*left--
	}
	return lines
}
