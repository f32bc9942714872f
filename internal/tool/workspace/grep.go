// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool/workspace/search"
	"github.com/nestor-dev/nestor/internal/tool/workspace/toolspec"
)

const (
	grepMatches    = 200
	maxGrepMatches = 2000
	maxGrepContext = 20
)

func (w *Workspace) grep(ctx context.Context, in toolspec.GrepArgs) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, w.limits.SearchTime)
	defer cancel()
	pattern, err := search.CompilePattern(in.Pattern, in.Literal, in.IgnoreCase)
	if err != nil {
		return nil, err
	}
	files, err := w.files(in.SearchArgs, in.Include)
	if err != nil {
		return nil, err
	}
	around := min(max(in.Context, 0), maxGrepContext)
	limit := limitOr(in.Limit, grepMatches, maxGrepMatches)
	query := search.GrepQuery{Pattern: pattern, Before: around, After: around, Limit: limit}
	result, err := search.Grep(ctx, files, query)
	if err != nil {
		return nil, w.searchError(ctx, err)
	}
	a := &answer{limit: w.limits.OutputBytes}
	switch {
	case result.Matches == 0:
		a.addNote("no match; files that .gitignore excludes need include_ignored")
	case in.FilesOnly:
		listPaths(a, in, result, query.Limit)
	default:
		listMatches(a, in, result)
	}
	if result.Matches == 0 && result.Skipped.Binary > 0 {
		a.addNote("%s not searched", plural(result.Skipped.Binary, "binary file"))
	}
	noteSkipped(a, result.Skipped, w.limits.SearchFileBytes)
	return a.result(), nil
}

func listPaths(a *answer, in toolspec.GrepArgs, result search.GrepResult, limit int) {
	listed := 0
	for _, f := range result.Files[:min(limit, len(result.Files))] {
		if !a.addLine("%s: %s", in.Display(f.Path), plural(f.Count, "match")) {
			break
		}
		listed++
	}
	if left := result.MatchedFiles - listed; left > 0 {
		a.addNote("%s more with matches; use a narrower pattern, path or include", plural(left, "file"))
	}
}

func listMatches(a *answer, in toolspec.GrepArgs, result search.GrepResult) {
	listed := 0
	last := 0
	for _, f := range result.Files {
		path := in.Display(f.Path)
		for i, line := range f.Lines {
			// As in grep, "--" separates passages that are not adjacent.
			if in.Context > 0 && listed > 0 && (i == 0 || line.Number != last+1) {
				a.addLine("--")
			}
			last = line.Number
			mark := "-"
			if line.Match {
				mark = ":"
			}
			if !a.addLine("%s%s%d%s%s", path, mark, line.Number, mark, line.Text) {
				break
			}
			if line.Match {
				listed++
			}
		}
	}
	if left := result.Matches - listed; left > 0 {
		a.addNote("%s more, of %d in %s; use a narrower pattern, path or include, or files_only", plural(left, "match"), result.Matches, plural(result.MatchedFiles, "file"))
	}
}

func noteSkipped(a *answer, skipped search.Skipped, limit int64) {
	if skipped.Large > 0 {
		a.addNote("%s over %s not searched", plural(skipped.Large, "file"), size(limit))
	}
	if skipped.Unreadable > 0 {
		a.addNote("%s could not be read", plural(skipped.Unreadable, "file"))
	}
}
