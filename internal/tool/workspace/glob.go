// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool/workspace/pathmatch"
	"github.com/nestor-dev/nestor/internal/tool/workspace/search"
	"github.com/nestor-dev/nestor/internal/tool/workspace/toolspec"
)

func (w *Workspace) files(in toolspec.SearchArgs, include string) (search.Files, error) {
	base, err := in.Resolve(in.Path)
	if err != nil {
		return search.Files{}, err
	}
	files := search.Files{
		Root:           w.root,
		Base:           base,
		IncludeIgnored: in.IncludeIgnored,
		MaxFileBytes:   w.limits.SearchFileBytes,
	}
	if include == "" {
		return files, nil
	}
	files.Include, err = pathmatch.CompileGlob(include)
	return files, err
}

// searchError adds advice if a search ran out of time.
func (w *Workspace) searchError(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("the search took longer than %s; search a smaller directory with path", w.limits.SearchTime)
	}
	return err
}

const (
	globPaths    = 500
	maxGlobPaths = 5000
)

func (w *Workspace) glob(ctx context.Context, in toolspec.GlobArgs) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, w.limits.SearchTime)
	defer cancel()
	if in.Pattern == "" {
		return nil, errors.New("pattern is empty; use ** for all files")
	}
	files, err := w.files(in.SearchArgs, in.Pattern)
	if err != nil {
		return nil, err
	}
	result, err := search.Glob(ctx, files, limitOr(in.Limit, globPaths, maxGlobPaths))
	if err != nil {
		return nil, w.searchError(ctx, err)
	}
	a := &answer{limit: w.limits.OutputBytes}
	listed := 0
	for _, path := range result.Paths {
		if !a.addLine("%s", in.Display(path)) {
			break
		}
		listed++
	}
	if result.Total == 0 {
		a.addNote("no file matches; files that .gitignore excludes need include_ignored")
	}
	if left := result.Total - listed; left > 0 {
		a.addNote("%s more; use a narrower pattern or path", plural(left, "file"))
	}
	if result.Unreadable > 0 {
		a.addNote("%s could not be read", plural(result.Unreadable, "directory"))
	}
	return a.result(), nil
}
