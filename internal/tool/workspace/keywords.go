// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool/workspace/search"
	"github.com/nestor-dev/nestor/internal/tool/workspace/toolspec"
)

const (
	keywordFiles        = 10 // by default
	maxKeywordFiles     = 50
	linesPerKeywordFile = 4
	maxKeywords         = 20
)

func (w *Workspace) keywordSearch(ctx context.Context, in toolspec.KeywordArgs) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, w.limits.SearchTime)
	defer cancel()
	if len(in.Keywords) > maxKeywords {
		return nil, fmt.Errorf("%d keywords are too many; give at most %d", len(in.Keywords), maxKeywords)
	}
	files, err := w.files(in.SearchArgs, in.Include)
	if err != nil {
		return nil, err
	}
	limit := limitOr(in.Limit, keywordFiles, maxKeywordFiles)
	query := search.KeywordQuery{Words: in.Keywords, Limit: limit, Lines: linesPerKeywordFile}
	result, err := search.Keywords(ctx, files, query)
	if err != nil {
		return nil, w.searchError(ctx, err)
	}
	a := &answer{limit: w.limits.OutputBytes}
	count := 0
	for _, hit := range result.Hits {
		if !a.addLine("%s (%d of %s)", in.Display(hit.Path), hit.Words, plural(result.Words, "word")) {
			break
		}
		for _, line := range hit.Lines {
			a.addLine("%6d\t%s", line.Number, line.Text)
		}
		count++
	}
	if result.Total == 0 {
		a.addNote("no file has any of the words; files that .gitignore excludes need include_ignored")
	}
	if left := result.Total - count; left > 0 {
		a.addNote("%s more with at least one of the words; add words, or narrow path or include", plural(left, "file"))
	}
	noteSkipped(a, result.Skipped, w.limits.SearchFileBytes)
	return a.result(), nil
}
