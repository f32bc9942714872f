// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
	"github.com/nestor-dev/nestor/internal/tool/workspace/gitignore"
)

type entries struct {
	// present are files and links to read, gone are paths of the base that are no longer either.
	present, gone []string
	// unreadable are paths that the server cannot read.
	unreadable []string
	bytes      int64
	big        string
	bigSize    int64
}

func (e *entries) message() string {
	if len(e.unreadable) == 0 {
		return ""
	}
	const named = 5
	text := strings.Join(e.unreadable[:min(named, len(e.unreadable))], ", ")
	return fmt.Sprintf("%d paths cannot be read and are left out, among them %s.", len(e.unreadable), strings.ToValidUTF8(text, "\uFFFD"))
}

func (e *entries) largest() string {
	return fmt.Sprintf("the largest file is %s with %d MiB", strings.ToValidUTF8(e.big, "\uFFFD"), e.bigSize>>20)
}

// changed lists what differs from the index, which has the base, and all files that are not in it. With ignore, new
// files that .gitignore files exclude are left out.
func (g repository) changed(ctx context.Context, root string, ignore bool) (entries, error) {
	var e entries
	_ = g.run(ctx, "update-index", "-q", "--refresh") // it fails if a file differs
	differing, err := g.list(ctx, "diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all")
	if err != nil {
		return e, err
	}
	names, err := g.list(ctx, "ls-files", "-z")
	if err != nil {
		return e, err
	}
	tracked := make(map[string]bool, len(names))
	for _, name := range names {
		tracked[name] = true
	}
	opened, err := os.OpenRoot(root)
	if err != nil {
		return e, fmt.Errorf("open the workspace: %w", err)
	}
	defer func() { _ = opened.Close() }()
	for _, name := range differing {
		if err := e.add(opened, name); err != nil {
			return e, err
		}
	}
	w := walk{ctx: ctx, ignore: ignore, tracked: tracked, root: opened, entries: &e}
	return e, w.start(root)
}

// add adds a path by its current type.
func (e *entries) add(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrPermission):
		e.unreadable = append(e.unreadable, name)
		return nil
	case err != nil, !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
		e.gone = append(e.gone, name)
		return nil //nolint:nilerr // a directory of the path may be a file or a link now, so that the path does not exist
	}
	if info.Mode().IsRegular() {
		if !readable(root, name) {
			e.unreadable = append(e.unreadable, name)
			return nil
		}
		if e.bytes += info.Size(); info.Size() > e.bigSize {
			e.big, e.bigSize = name, info.Size()
		}
	}
	e.present = append(e.present, name)
	if e.bytes > maxCompared {
		return fmt.Errorf("%w: the changed files have more than %d MiB; %s", ErrTooLarge, maxCompared>>20, e.largest())
	}
	if len(e.present) > maxEntries {
		return fmt.Errorf("%w: more than %d files were changed; %s", ErrTooLarge, maxEntries, e.largest())
	}
	return nil
}

// readable reports whether a regular file can be opened. It does not wait if the file has become a pipe.
func readable(root *os.Root, name string) bool {
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

// walk lists the files that are not in the index.
type walk struct {
	ctx     context.Context //nolint:containedctx // it lasts for one call
	ignore  bool
	tracked map[string]bool
	root    *os.Root
	entries *entries
}

func (w *walk) start(root string) error {
	opened, err := fsroot.Open(root)
	if err != nil {
		return err
	}
	defer opened.Close()
	dir, err := opened.OpenDir(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	return w.dir(dir, "", nil)
}

const maxRules = 1 << 20

func (w *walk) dir(dir *fsroot.Dir, prefix string, rules *gitignore.Stack) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	list, err := dir.ReadDir()
	if err != nil {
		w.entries.unreadable = append(w.entries.unreadable, prefix)
		return nil //nolint:nilerr // the summary names the directories that are missing
	}
	if w.ignore {
		if content, err := dir.ReadFile(".gitignore", nil, maxRules, nil); err == nil {
			rules = rules.Push(path.Clean(prefix), gitignore.Parse(string(content)))
		}
	}
	for _, entry := range list {
		name := prefix + entry.Name()
		if isRepositoryName(entry.Name()) || (rules.Ignored(name, entry.IsDir()) && !w.tracked[name]) {
			continue
		}
		if entry.IsDir() {
			below, err := dir.OpenDir(entry.Name())
			if err != nil {
				w.entries.unreadable = append(w.entries.unreadable, name)
				continue
			}
			err = w.dir(below, name+"/", rules)
			below.Close()
			if err != nil {
				return err
			}
			continue
		}
		if w.tracked[name] || (!entry.Type().IsRegular() && entry.Type()&fs.ModeSymlink == 0) {
			continue
		}
		if err := w.entries.add(w.root, name); err != nil {
			return err
		}
	}
	return nil
}

// isRepositoryName reports whether git refuses a name as a part of a path.
func isRepositoryName(name string) bool { return strings.EqualFold(name, ".git") }
