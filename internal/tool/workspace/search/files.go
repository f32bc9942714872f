// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"cmp"
	"context"
	"path"
	"runtime"
	"strings"

	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
	"github.com/nestor-dev/nestor/internal/tool/workspace/gitignore"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pathmatch"
)

type Files struct {
	Root *fsroot.Root
	// Base is the directory to search, or a single file, relative to the root.
	Base string
	// Include, if set, selects the files whose path relative to Base it matches.
	Include *pathmatch.Glob
	// IncludeIgnored also searches files that .gitignore excludes. Git's own directory is searched only if Base is in it.
	IncludeIgnored bool
	// MaxFileBytes is the maximum size of a file that is opened.
	MaxFileBytes int64
	// Workers is the number of goroutines; 0 means GOMAXPROCS.
	Workers int
}

// file is a file found by a walk. It is valid only during the visit.
type file struct {
	path string // from the root
	name string
	dir  *fsroot.Dir  // the directory of the file, or
	root *fsroot.Root // the root, if the file was given by its path
}

// readText returns the content of a text file in buf, which may grow.
func (f file) readText(buf []byte, limit int64) ([]byte, error) {
	if f.root != nil {
		data, err := f.root.ReadFile(f.path, limit)
		if err == nil && fsroot.IsBinary(data) {
			err = fsroot.ErrSkipped
		}
		return data, err
	}
	return f.dir.ReadFile(f.name, buf, limit, func(head []byte) bool { return !fsroot.IsBinary(head) })
}

type visitor func(file)

// walk calls visitors for all files, in no particular order. newVisitor creates one visitor per worker, which
// therefore needs no locks. It returns the number of unreadable directories.
func (s Files) walk(ctx context.Context, newVisitor func() visitor) (unreadable int, err error) {
	base := cmp.Or(s.Base, ".")
	info, err := s.Root.Stat(base)
	if err != nil {
		return 0, err
	}
	if !info.IsDir() {
		return 0, s.visitOne(base, newVisitor())
	}
	dir, err := s.Root.OpenDir(base)
	if err != nil {
		return 0, err
	}
	rules, err := s.rulesAbove(base)
	if err != nil {
		dir.Close()
		return 0, err
	}
	workers := s.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	w := &walker{files: s, prefix: commonPrefix(base)}
	return w.run(ctx, workers, task{open: newHandle(dir), path: base, rules: rules}, newVisitor)
}

// visitOne visits a file that the caller named, regardless of ignore rules.
func (s Files) visitOne(name string, visit visitor) error {
	f, _, err := s.Root.OpenFile(name)
	if err != nil {
		return err
	}
	_ = f.Close()
	visit(file{path: name, name: path.Base(name), root: s.Root})
	return nil
}

func (s Files) rulesAbove(base string) (*gitignore.Stack, error) {
	if s.IncludeIgnored || base == "." {
		return nil, nil
	}
	var rules *gitignore.Stack
	at := "."
	for part := range strings.SplitSeq(base, "/") {
		dir, err := s.Root.OpenDir(at)
		if err != nil {
			return nil, err
		}
		rules = rules.Push(at, readRules(dir))
		dir.Close()
		at = path.Join(at, part)
	}
	return rules, nil
}

// maxRulesBytes is far above the size of any hand-written .gitignore file.
const maxRulesBytes = 1 << 20

// readRules returns the rules of a directory, or nil if it has none or they cannot be read.
func readRules(dir *fsroot.Dir) *gitignore.Rules {
	content, err := dir.ReadFile(".gitignore", nil, maxRulesBytes, nil)
	if err != nil {
		return nil
	}
	return gitignore.Parse(string(content))
}

// commonPrefix returns the common prefix of the paths below a directory.
func commonPrefix(dir string) string {
	if dir == "." {
		return ""
	}
	return dir + "/"
}
