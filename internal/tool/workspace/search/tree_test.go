// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package search_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pathmatch"
	"github.com/nestor-dev/nestor/internal/tool/workspace/search"
)

// treeSize returns the number of files in generated trees; NESTOR_TREE_FILES=100000 matches the largest workspaces.
func treeSize(t testing.TB) int {
	text := os.Getenv("NESTOR_TREE_FILES")
	if text == "" {
		return 3000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// generate creates a tree of n source files, every tenth in an ignored directory, every hundredth binary, every
// seventh with the word needle, and returns the paths that a search visits and those with the word.
func generate(t testing.TB, n int) (dir string, seen, matched []string) {
	t.Helper()
	dir = t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(".gitignore", "build/\n*.tmp\n")
	write(".git/HEAD", "needle\n")
	filler := strings.Repeat("\tvalue := compute(input, options) // and so on\n", 40)
	for i := range n {
		name := fmt.Sprintf("pkg%d/sub%d/file%d.go", i%37, i%11, i)
		content := fmt.Sprintf("package sub%d\n\nfunc Function%d() {\n%s}\n", i%11, i, filler)
		if i%7 == 0 {
			content += "// the needle in the haystack\n"
		}
		switch {
		case i%10 == 1:
			name = fmt.Sprintf("pkg%d/build/out%d.go", i%37, i)
		case i%100 == 2:
			content = "\x00" + content
			seen = append(seen, name)
		default:
			seen = append(seen, name)
			if i%7 == 0 {
				matched = append(matched, name)
			}
		}
		write(name, content)
	}
	slices.Sort(seen)
	slices.Sort(matched)
	return dir, seen, matched
}

func open(t testing.TB, dir string) search.Files {
	t.Helper()
	root, err := fsroot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return search.Files{Root: root, Base: ".", MaxFileBytes: 1 << 20}
}

func glob(t testing.TB, pattern string) *pathmatch.Glob {
	t.Helper()
	g, err := pathmatch.CompileGlob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestLargeTreeIsSearchedCompletely(t *testing.T) {
	dir, seen, matched := generate(t, treeSize(t))
	pattern, err := search.CompilePattern("needle", true, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 2, 7} {
		files := open(t, dir)
		files.Workers = workers
		found, err := search.Grep(t.Context(), files, search.GrepQuery{Pattern: pattern, Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		paths := make([]string, 0, len(found.Files))
		lines := 0
		for _, f := range found.Files {
			paths = append(paths, f.Path)
			lines += len(f.Lines)
		}
		if diff := cmp.Diff(matched, paths); diff != "" {
			t.Errorf("%d workers: files with matches (-want +got):\n%s", workers, diff)
		}
		if found.Matches != len(matched) || lines != 50 || len(found.Files[49].Lines) != 1 {
			t.Errorf("%d workers: %d matches, %d lines; the first 50 files must have one each", workers, found.Matches, lines)
		}
		files.Include = glob(t, "*.go")
		listed, err := search.Glob(t.Context(), files, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(seen, listed.Paths); diff != "" {
			t.Errorf("%d workers: listed files (-want +got):\n%s", workers, diff)
		}
	}
}

func TestKeywordsPreferRareWords(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"retry/backoff.go": "// Backoff computes the delay before the next retry.\nfunc Backoff(attempt int) time.Duration { return 0 }\n",
		"http/client.go":   "func (c *Client) doWithRetry() {}\n" + strings.Repeat("func common() {}\n", 50),
		"common.go":        strings.Repeat("common func common\n", 100),
		"entry.txt":        "country retrying\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := search.Keywords(t.Context(), open(t, dir), search.KeywordQuery{Words: []string{"retry backoff", "common"}, Limit: 10, Lines: 1})
	if err != nil {
		t.Fatal(err)
	}
	paths := make([]string, 0, len(found.Hits))
	for _, hit := range found.Hits {
		paths = append(paths, hit.Path)
	}
	if diff := cmp.Diff([]string{"retry/backoff.go", "http/client.go", "common.go", "entry.txt"}, paths); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	best := []search.Line{{Number: 1, Text: "// Backoff computes the delay before the next retry.", Match: true}}
	if diff := cmp.Diff(best, found.Hits[0].Lines); diff != "" {
		t.Errorf("lines of the best file (-want +got):\n%s", diff)
	}
}

func TestContextLinesAreShownOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("1\n2\nx3\n4\nx5\n6\n7\n8\n9\nx10"), 0o644); err != nil {
		t.Fatal(err)
	}
	pattern, err := search.CompilePattern("x", false, false)
	if err != nil {
		t.Fatal(err)
	}
	found, err := search.Grep(t.Context(), open(t, dir), search.GrepQuery{Pattern: pattern, Before: 2, After: 2, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, 0, len(found.Files[0].Lines))
	for _, line := range found.Files[0].Lines {
		got = append(got, fmt.Sprintf("%d %s", line.Number, line.Text))
	}
	want := []string{"1 1", "2 2", "3 x3", "4 4", "5 x5", "6 6", "7 7", "8 8", "9 9", "10 x10"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestSearchEndsWithItsContext(t *testing.T) {
	dir, _, _ := generate(t, 50)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := search.Glob(ctx, open(t, dir), 10); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestLargeFilesAreCountedNotSearched(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"small": 10, "limit": 100, "large": 101, "binary": 100_000} {
		content := strings.Repeat("x", size)
		if name == "binary" {
			content = "\x00" + content
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pattern, err := search.CompilePattern("x", true, false)
	if err != nil {
		t.Fatal(err)
	}
	files := open(t, dir)
	files.MaxFileBytes = 100
	found, err := search.Grep(t.Context(), files, search.GrepQuery{Pattern: pattern, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if found.MatchedFiles != 2 || found.Skipped.Large != 2 {
		t.Errorf("%+v", found)
	}
	files.MaxFileBytes = 1 << 20
	found, err = search.Grep(t.Context(), files, search.GrepQuery{Pattern: pattern, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if found.MatchedFiles != 3 || found.Skipped != (search.Skipped{Binary: 1}) {
		t.Errorf("%+v", found)
	}
}
