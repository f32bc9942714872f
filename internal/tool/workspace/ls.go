// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
	"github.com/nestor-dev/nestor/internal/tool/workspace/toolspec"
)

const (
	lsEntries    = 500
	maxLsEntries = 5000
)

func (w *Workspace) ls(_ context.Context, in toolspec.LsArgs) (*mcp.CallToolResult, error) {
	name, err := in.Resolve(in.Path)
	if err != nil {
		return nil, err
	}
	dir, err := w.root.OpenDir(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir()
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".git" })
	if len(entries) == 0 {
		return text("[the directory is empty]"), nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })

	a := &answer{limit: w.limits.OutputBytes}
	listed := 0
	for _, entry := range entries[:min(len(entries), limitOr(in.Limit, lsEntries, maxLsEntries))] {
		if !a.addLine("%s", w.describe(path.Join(name, entry.Name()), entry)) {
			break
		}
		listed++
	}
	if left := len(entries) - listed; left > 0 {
		a.addNote("%s more; list with a larger limit, or use glob", plural(left, "entry"))
	}
	return a.result(), nil
}

func (w *Workspace) describe(name string, entry fs.DirEntry) string {
	shown := fsroot.Display(entry.Name())
	switch mode := entry.Type(); {
	case mode.IsDir():
		return shown + "/"
	case mode&fs.ModeSymlink != 0:
		target, inside := w.root.Readlink(name)
		if !inside {
			return shown + " (symbolic link that leads nowhere in the workspace)"
		}
		return shown + " -> " + fsroot.Display(target)
	case !mode.IsRegular():
		return shown + " (" + fsroot.Kind(mode) + ")"
	}
	info, err := entry.Info()
	if err != nil {
		return shown
	}
	return shown + " (" + size(info.Size()) + ")"
}
