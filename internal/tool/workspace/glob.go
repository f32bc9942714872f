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
)

func globTool() *mcp.Tool {
	return readOnly("glob", "Find files by name",
		"List the files whose path matches a glob, sorted. A pattern without / matches a name at any depth (*.go); "+
			"one with / matches the path from the searched directory (cmd/**/*.go). ** is any number of directories, {a,b} alternatives. "+
			"Files that .gitignore excludes are left out.")
}

// searchArgs are the common arguments of the search tools.
type searchArgs struct {
	location
	Path           string `json:"path,omitempty" jsonschema:"directory or file to search (default: cwd)"`
	IncludeIgnored bool   `json:"include_ignored,omitempty" jsonschema:"also search what .gitignore excludes"`
}

func (w *Workspace) files(in searchArgs, include string) (search.Files, error) {
	base, err := in.resolve(in.Path)
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

type globArgs struct {
	searchArgs
	Pattern string `json:"pattern" jsonschema:"the glob, for example *.go or src/**/*_test.{js,ts}"`
	Limit   int    `json:"limit,omitempty" jsonschema:"number of paths to return (default 500, at most 5000)"`
}

const (
	globPaths    = 500
	maxGlobPaths = 5000
)

func (w *Workspace) glob(ctx context.Context, in globArgs) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, w.limits.SearchTime)
	defer cancel()
	if in.Pattern == "" {
		return nil, errors.New("pattern is empty; use ** for all files")
	}
	files, err := w.files(in.searchArgs, in.Pattern)
	if err != nil {
		return nil, err
	}
	found, err := search.Glob(ctx, files, atMost(in.Limit, globPaths, maxGlobPaths))
	if err != nil {
		return nil, w.searchError(ctx, err)
	}
	a := &answer{limit: w.limits.OutputBytes}
	listed := 0
	for _, path := range found.Paths {
		if !a.addLine("%s", in.display(path)) {
			break
		}
		listed++
	}
	if found.Total == 0 {
		a.addNote("no file matches; files that .gitignore excludes need include_ignored")
	}
	if left := found.Total - listed; left > 0 {
		a.addNote("%s more; use a narrower pattern or path", plural(left, "file"))
	}
	if found.Unreadable > 0 {
		a.addNote("%s could not be read", plural(found.Unreadable, "directory"))
	}
	return a.result(), nil
}
