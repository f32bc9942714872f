// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitignore_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/tool/workspace/gitignore"
	"github.com/nestor-dev/nestor/test/programs"
)

// repository is a real git repository to compare with.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	programs.Need(t, "git")
	r := repository{t: t, dir: t.TempDir()}
	r.git(nil, "init", "--quiet")
	return r
}

func (r repository) git(input []byte, arguments ...string) []byte {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", arguments...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C")
	cmd.Stdin = bytes.NewReader(input)
	output, err := cmd.Output()
	// check-ignore exits with 1 if nothing is ignored.
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 1 { //nolint:errorlint // returned by Output as it is
		return output
	}
	if err != nil {
		r.t.Fatalf("git %v: %v", arguments, err)
	}
	return output
}

// create creates files and directories; a path that ends in "/" is a directory.
func (r repository) create(paths []string) {
	r.t.Helper()
	for _, path := range paths {
		name := filepath.Join(r.dir, path)
		dir := filepath.Dir(name)
		if strings.HasSuffix(path, "/") {
			dir = name
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			r.t.Fatal(err)
		}
		if dir == name {
			continue
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r repository) ignored(paths []string) map[string]bool {
	r.t.Helper()
	var input strings.Builder
	for _, path := range paths {
		// Git would match a trailing slash as part of the name.
		input.WriteString(strings.TrimSuffix(path, "/") + "\x00")
	}
	output := r.git([]byte(input.String()), "check-ignore", "--no-index", "-z", "--stdin")
	ignored := map[string]bool{}
	for path := range strings.SplitSeq(string(output), "\x00") {
		ignored[path] = true
	}
	return ignored
}

// walkIgnores decides like a walk: top-down, without entering ignored directories. files maps directories to the
// content of their ignore files.
func walkIgnores(files map[string]string, path string) bool {
	isDir := strings.HasSuffix(path, "/")
	path = strings.TrimSuffix(path, "/")
	var stack *gitignore.Stack
	stack = stack.Push(".", gitignore.Parse(files["."]))
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		if stack.Ignored(path[:i], true) {
			return true
		}
		stack = stack.Push(path[:i], gitignore.Parse(files[path[:i]]))
	}
	return stack.Ignored(path, isDir)
}

// compare compares our result for each path with git's.
func compare(t interface{ Errorf(string, ...any) }, r repository, files map[string]string, paths []string) {
	ignored := r.ignored(paths)
	for _, path := range paths {
		want := ignored[strings.TrimSuffix(path, "/")]
		if got := walkIgnores(files, path); got != want {
			t.Errorf("%q: ignored %v, but git says %v; ignore files %q", path, got, want, files)
		}
	}
}

func (r repository) write(files map[string]string) {
	r.t.Helper()
	for dir, content := range files {
		name := filepath.Join(r.dir, dir, ".gitignore")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
}

func TestRulesMatchGit(t *testing.T) {
	paths := []string{
		"a/", "b", "a/b/", "a/b/c/", "a/b/c/d", "d/a", "d/b", "foo/", "foo/bar/", "foo/bar/baz", "x/", "x/foo/", "x/y/foo/bar", "y/foo", "ab", "ax/b", "a/c",
		"a.log", "x/a.log", "debug.log", "#hash", "!bang", "sp ace", "trail ", "foo[1]", "foo1", "é", "a-b", "a]b", "a/x/b", "a/x/y/b", `back\slash`, "abd", "acd", "c", "1",
	}
	r := newRepository(t)
	r.create(paths)
	for _, content := range []string{
		"", "# comment\n\n", "a", "a/", "/a", "a/b", "/a/b", "a/*", "a/**", "**/a", "**/foo/bar", "foo/**", "foo/**/baz", "a/**/b", "**", "*", "*/", "/*", "/**", "**/",
		"*.log\n!debug.log", "foo/\n!foo/bar", "foo/*\n!foo/bar", `\#hash`, `\!bang`, "!a", "a\n!a", "trail\\ ", "trail ", "sp ace", "foo[1]", `foo\[1]`, "foo[0-9]", "foo[!0-9]", "foo[^0-9]",
		"[[:alpha:]]", "[[:digit:]]", "[[:bogus:]]", "foo[", "foo\\", "a[b/c]d", "a[/]b", "?", "??", "[]-]", "a[]]b", "a[a-]b", "a//b", "//a", "/", "!", "a**b", "a***b", "***", "x/***", "***/foo",
		"foo\r\n", "\ufefffoo", "a/\\*", "\\a", "a\\/b", "foo\\/", "**/*", "*/**", "*/*/c", "a/?/c", "[a-c]", "[c-a]", "[\\a]", "**/**", "a/**/**/b", "back\\\\slash", "a/**b", "a**/b",
		"[[:alpha:]-z]", "[a-[:digit:]]", "[[:digit:]", "[[.a.]]", "[[=a=]]", "[a-", "[!", "[]", "[!]a]", "[^]a]b",
	} {
		t.Run(content, func(t *testing.T) {
			files := map[string]string{".": content}
			r.write(files)
			compare(t, r, files, paths)
		})
	}
}

func TestNestedRulesMatchGit(t *testing.T) {
	r := newRepository(t)
	files := map[string]string{
		".": "*.log\nbuild\n/top\n", "a": "!keep.log\n/top\nsub/\n", "a/b": "!build\n*.txt\n", "c": "*\n!.gitignore\n!*.go\n",
	}
	paths := []string{
		"x.log", "keep.log", "a/x.log", "a/keep.log", "a/b/keep.log", "build", "a/build/", "a/b/build/", "a/b/build/x", "top", "a/top", "a/b/top", "a/sub/", "a/sub/x", "sub",
		"a/b/x.txt", "a/x.txt", "c/x", "c/x.go", "c/.gitignore", "c/d/", "c/d/x.go",
	}
	r.create(paths)
	r.write(files)
	compare(t, r, files, paths)
}

// TestRandomRulesMatchGit builds rules from the parts that are hard to get right.
func TestRandomRulesMatchGit(t *testing.T) {
	r := newRepository(t)
	part := rapid.SampledFrom([]string{"a", "b", "ab", "*", "**", "?", "[ab]", "[!a]", "[^b]", "[a-b]", "/", "/", "/", "\\a", "\\*", "\\", "[", "]", "!", "#", " ", "***", "[[:alpha:]]", "[/]", "-", "."})
	line := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(part, 1, 7).Draw(t, "parts"), "") })
	paths := tree("", 3)
	r.create(paths)
	rapid.Check(t, func(t *rapid.T) {
		files := map[string]string{".": strings.Join(rapid.SliceOfN(line, 1, 4).Draw(t, "lines"), "\n")}
		r.write(files)
		compare(t, r, files, paths)
	})
}

// tree lists files and directories of a tree of some depth.
func tree(prefix string, depth int) []string {
	var paths []string
	for _, name := range []string{"a", "ba", "-", "]", "a!", "#b", `\a`, "*", ".a"} {
		paths = append(paths, prefix+name)
	}
	if depth == 0 {
		return paths
	}
	for _, name := range []string{"b", "ab", "a*"} {
		paths = append(paths, prefix+name+"/")
		paths = append(paths, tree(prefix+name+"/", depth-1)...)
	}
	return paths
}
