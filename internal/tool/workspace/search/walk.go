// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
	"github.com/nestor-dev/nestor/internal/tool/workspace/gitignore"
)

// batch is the number of files of one directory per task, so that the workers share the files of a very large
// directory.
const batch = 128

// task is a directory to list, or some of its files.
type task struct {
	// A directory: either open, or to be opened as an entry of parent.
	open   *handle
	parent *handle
	name   string
	path   string
	rules  *gitignore.Stack

	// Files of the directory open; names is nil for a directory.
	names []string
}

// handle shares an open directory among tasks; the last one closes it. Taking tasks from the end of the list makes
// the walk depth-first, which keeps the number of open directories near the depth of the tree.
type handle struct {
	*fsroot.Dir
	uses atomic.Int32
}

func newHandle(dir *fsroot.Dir) *handle {
	h := &handle{Dir: dir}
	h.uses.Store(1)
	return h
}

func (h *handle) retain() *handle {
	h.uses.Add(1)
	return h
}

func (h *handle) release() {
	if h.uses.Add(-1) == 0 {
		h.Close()
	}
}

// walker is the task list that the workers share.
type walker struct {
	files  Files
	prefix string // of the base, for matching globs relative to it

	mu         sync.Mutex
	wake       *sync.Cond
	tasks      []task
	busy       int
	unreadable atomic.Int64
}

func (w *walker) run(ctx context.Context, workers int, first task, newVisitor func() visitor) (unreadable int, err error) {
	w.wake = sync.NewCond(&w.mu)
	w.tasks = append(w.tasks, first)
	var group sync.WaitGroup
	for range workers {
		visit := newVisitor()
		group.Go(func() { w.work(ctx, visit) })
	}
	group.Wait()
	return int(w.unreadable.Load()), ctx.Err()
}

func (w *walker) work(ctx context.Context, visit visitor) {
	for {
		t, ok := w.take()
		if !ok {
			return
		}
		w.do(ctx, t, visit)
		w.done()
	}
}

// take waits for a task. It reports false when none is left and none can appear.
func (w *walker) take() (task, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.tasks) == 0 {
		if w.busy == 0 {
			return task{}, false
		}
		w.wake.Wait()
	}
	last := len(w.tasks) - 1
	t := w.tasks[last]
	w.tasks[last] = task{}
	w.tasks = w.tasks[:last]
	w.busy++
	return t, true
}

func (w *walker) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	if w.busy == 0 && len(w.tasks) == 0 {
		w.wake.Broadcast()
	}
}

func (w *walker) add(tasks []task) {
	if len(tasks) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tasks = append(w.tasks, tasks...)
	w.wake.Broadcast()
}

func (w *walker) do(ctx context.Context, t task, visit visitor) {
	dir := w.enter(t)
	if dir == nil {
		return
	}
	defer dir.release()
	if ctx.Err() != nil {
		return
	}
	if t.names == nil {
		t.names = w.list(dir, t)
	}
	prefix := commonPrefix(t.path)
	for _, name := range t.names {
		if ctx.Err() != nil {
			return
		}
		visit(file{path: prefix + name, dir: dir.Dir, name: name})
	}
}

// enter returns the open directory of a task, or nil if it cannot be opened. The caller releases it.
func (w *walker) enter(t task) *handle {
	if t.open != nil {
		return t.open
	}
	defer t.parent.release()
	dir, err := t.parent.OpenDir(t.name)
	if err != nil {
		w.unreadable.Add(1)
		return nil
	}
	return newHandle(dir)
}

// list reads a directory, adds tasks for its directories and for its files past
// the first batch, and returns the first batch.
func (w *walker) list(dir *handle, t task) []string {
	entries, err := dir.ReadDir()
	if err != nil {
		w.unreadable.Add(1)
	}
	rules := t.rules
	if !w.files.IncludeIgnored && hasRules(entries) {
		rules = rules.Push(t.path, readRules(dir.Dir))
	}
	prefix := commonPrefix(t.path)
	var tasks []task
	var names []string
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case name == ".git":
		case entry.IsDir():
			if path := prefix + name; !rules.Ignored(path, true) {
				tasks = append(tasks, task{parent: dir.retain(), name: name, path: path, rules: rules})
			}
		case entry.Type().IsRegular():
			if w.isIncluded(prefix+name, rules) {
				names = append(names, name)
			}
		}
	}
	for len(names) > batch {
		rest := len(names) - batch
		tasks = append(tasks, task{open: dir.retain(), path: t.path, names: names[rest:]})
		names = names[:rest]
	}
	w.add(tasks)
	return names
}

func (w *walker) isIncluded(path string, rules *gitignore.Stack) bool {
	include := w.files.Include
	return (include == nil || include.Match(path[len(w.prefix):])) && !rules.Ignored(path, false)
}

func hasRules(entries []fs.DirEntry) bool {
	return slices.ContainsFunc(entries, func(entry fs.DirEntry) bool { return entry.Name() == ".gitignore" })
}
