// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package changes_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
	"github.com/nestor-dev/nestor/test/programs"
)

func git(t testing.TB, dir string, arguments ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", arguments...)
	cmd.Dir = dir
	cmd.Env = programs.GitEnviron()
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", arguments, err, output)
	}
	return strings.TrimSpace(string(output))
}

// files is a tree: a name that ends with a slash is a directory, a content that begins with "-> " a link, one with "+x
// " executable.
type files map[string]string

func write(t testing.TB, dir string, all files) {
	t.Helper()
	for name, content := range all {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			_ = os.Remove(path) // it may not exist
			must(t, os.Symlink(target, path))
			continue
		}
		mode := os.FileMode(0o644)
		if rest, ok := strings.CutPrefix(content, "+x "); ok {
			content, mode = rest, 0o755
		}
		_ = os.Remove(path) // it may not exist
		must(t, os.WriteFile(path, []byte(content), mode))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// snapshot reads a tree without repositories.
func snapshot(t testing.TB, dir string) files {
	t.Helper()
	all := files{}
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case entry.Name() == ".git":
			return filepath.SkipDir
		case entry.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			all[name] = "-> " + target
			return err
		case entry.Type().IsRegular():
			info, err := entry.Info()
			must(t, err)
			content, err := os.ReadFile(path)
			if all[name] = string(content); info.Mode()&0o100 != 0 {
				all[name] = "+x " + string(content)
			}
			return err
		}
		return nil
	}))
	return all
}

// newRepository returns a repository with some files, and its commit.
func newRepository(t testing.TB) (dir, commit string) {
	t.Helper()
	programs.Need(t, "git")
	dir = t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	write(t, dir, files{
		"readme.md": "one\ntwo\nthree\n", "src/a.go": "package a\n", "src/b.go": "package b\n\nfunc B() {}\n", "run.sh": "+x #!/bin/sh\n",
		"image.png": "\x89PNG\x00\x01\x02", "link": "-> readme.md", ".gitignore": "*.log\nbuild/\n", "kept.log": "tracked anyway\n",
	})
	git(t, dir, "add", "--force", ".")
	git(t, dir, "commit", "--quiet", "-m", "base")
	return dir, git(t, dir, "rev-parse", "HEAD")
}

func tree(t testing.TB, dir, commit string) *changes.Tree {
	return &changes.Tree{Root: dir, State: t.TempDir(), Against: changes.Commit, Base: commit}
}

func read(t testing.TB, tr *changes.Tree) changes.Summary {
	t.Helper()
	s, err := tr.Read(t.Context())
	must(t, err)
	return s
}

func describe(s changes.Summary) []string {
	var lines []string
	for _, f := range s.Files {
		line := f.Change + " " + f.Path
		if f.From != "" {
			line += " from " + f.From
		}
		if f.Binary {
			line += " binary"
		} else if f.Additions != nil {
			line += fmt.Sprintf(" +%d -%d", *f.Additions, *f.Deletions)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestSummaryAndArchive(t *testing.T) {
	dir, commit := newRepository(t)
	tr := tree(t, dir, commit)
	if s := read(t, tr); len(s.Files) != 0 || s.Diff != "" || s.BaseCommit != commit {
		t.Fatalf("nothing was changed, but: %+v", s)
	}
	if archive, err := tr.Archive(t.Context()); err != nil || len(archive) != 0 {
		t.Fatalf("the archive of no changes has %d bytes, error %v", len(archive), err)
	}
	write(t, dir, files{"readme.md": "one\n2\nthree\n", "new/ä file.txt": "hello\n", "image.png": "\x89PNG\x00\x03", "debug.log": "ignored", "build/out": "ignored", "kept.log": "changed\n", "run.sh": "#!/bin/sh\n"})
	must(t, os.Remove(filepath.Join(dir, "src/a.go")))
	must(t, os.Rename(filepath.Join(dir, "src/b.go"), filepath.Join(dir, "src/c.go")))
	// Commits of the agent do not hide its changes.
	git(t, dir, "add", "readme.md")
	git(t, dir, "commit", "--quiet", "-m", "of the agent")

	want := []string{"Modified image.png binary", "Modified kept.log +1 -1", "Added new/ä file.txt +1 -0", "Modified readme.md +1 -1", "Modified run.sh +0 -0", "Deleted src/a.go +0 -1", "Renamed src/c.go from src/b.go +0 -0"}
	s := read(t, tr)
	if diff := cmp.Diff(want, describe(s)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, part := range []string{"-two\n+2\n", "+hello\n", "Binary files a/image.png and b/image.png differ", "old mode 100755"} {
		if !strings.Contains(s.Diff, part) {
			t.Errorf("the diff lacks %q:\n%s", part, s.Diff)
		}
	}
	if strings.Contains(s.Diff, "ignored") {
		t.Error("the diff has ignored files")
	}
	archive, err := tr.Archive(t.Context())
	must(t, err)
	fresh := t.TempDir()
	git(t, fresh, "clone", "--quiet", dir, ".")
	git(t, fresh, "checkout", "--quiet", commit)
	// Git itself applies the archive, as a person would.
	patch := filepath.Join(t.TempDir(), "patch")
	must(t, os.WriteFile(patch, archive, 0o600))
	git(t, fresh, "apply", patch)
	got, expected := snapshot(t, fresh), snapshot(t, dir)
	delete(expected, "debug.log")
	delete(expected, "build/out")
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("the tree with the patch (-want +got):\n%s", diff)
	}
}

func TestDigestMatchesArchive(t *testing.T) {
	dir, commit := newRepository(t)
	tree := &changes.Tree{Root: dir, State: t.TempDir(), Against: changes.Commit, Base: commit}
	before, err := tree.Read(t.Context())
	must(t, err)
	if before.Digest != "" {
		t.Errorf("nothing was changed, and the digest is %s", before.Digest)
	}
	seen := map[string]bool{}
	for _, content := range []string{"1\n", "2\n", "\x00\x01"} {
		write(t, dir, files{"new": content})
		summary, err := tree.Read(t.Context())
		must(t, err)
		archive, err := tree.Archive(t.Context())
		must(t, err)
		if summary.Digest != changes.DigestOf(archive) || len(summary.Digest) != 64 || seen[summary.Digest] {
			t.Errorf("digest %q of %q", summary.Digest, archive)
		}
		seen[summary.Digest] = true
	}
	empty := &changes.Tree{Root: dir, State: t.TempDir(), Against: changes.Nothing}
	if summary, err := empty.Read(t.Context()); err != nil || summary.Digest != "" {
		t.Errorf("a tar has the digest %q, %v", summary.Digest, err)
	}
}

func TestRestoreGivesTheSameTree(t *testing.T) {
	origin, commit := newRepository(t)
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		git(t, dir, "clone", "--quiet", origin, ".")
		for range 8 {
			edit(t, dir, random)
		}
		want := snapshot(t, dir)
		archive, err := tree(t, dir, commit).Archive(t.Context())
		must(t, err)
		fresh := t.TempDir()
		git(t, fresh, "clone", "--quiet", origin, ".")
		again := tree(t, fresh, commit)
		// The directory contains the files of an interrupted attempt.
		write(t, fresh, files{"readme.md": "half", "left/over": "x", "debug.log": "x", "nested/": ""})
		git(t, fresh, "init", "--quiet", "nested")
		must(t, again.Restore(t.Context(), archive))
		must(t, again.Restore(t.Context(), archive))
		if diff := cmp.Diff(want, snapshot(t, fresh)); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
		if git(t, fresh, "rev-parse", "HEAD") != commit {
			t.Fatal("the repository of the workspace was changed")
		}
	}
}

// edit makes one change that git can represent.
func edit(t testing.TB, dir string, random *rand.Rand) {
	names := []string{"readme.md", "src/a.go", "src/b.go", "run.sh", "image.png", "link", "n1", "deep/er/n2", "src", "ä b", "q\"uote", "tab\tname"}
	name := filepath.Join(dir, names[random.IntN(len(names))])
	switch random.IntN(6) {
	case 0:
		_ = os.RemoveAll(name)
	case 1:
		_ = os.RemoveAll(name)
		_ = os.Symlink("../outside", name)
	case 2:
		_ = os.Chmod(name, 0o755)
	case 3:
		_ = os.Rename(name, name+".moved")
	default:
		_ = os.MkdirAll(filepath.Dir(name), 0o755)
		content := make([]byte, random.IntN(200))
		for i := range content {
			content[i] = byte(random.IntN(256))
			if random.IntN(2) == 0 {
				content[i] = "ab\n\r\x00"[random.IntN(5)]
			}
		}
		_ = os.WriteFile(name, content, 0o644)
	}
}

func TestEmptyDirectory(t *testing.T) {
	dir := t.TempDir()
	tr := &changes.Tree{Root: dir, State: t.TempDir(), Against: changes.Nothing}
	if archive, err := tr.Archive(t.Context()); err != nil || len(archive) != 0 {
		t.Fatalf("the archive of an empty directory has %d bytes, error %v", len(archive), err)
	}
	all := files{"a.txt": "x\n", "deep/b": "+x y", "link": "-> /etc/passwd", "debug.log": "not ignored", ".gitignore": "*.log"}
	write(t, dir, all)
	git(t, dir, "init", "--quiet")
	if got := describe(read(t, tr)); len(got) != 5 || got[1] != "Added a.txt +1 -0" {
		t.Errorf("files: %q", got)
	}
	archive, err := tr.Archive(t.Context())
	must(t, err)
	fresh := t.TempDir()
	write(t, fresh, files{"half": "x", "link": "-> /elsewhere"})
	again := &changes.Tree{Root: fresh, State: t.TempDir(), Against: changes.Nothing}
	must(t, again.Restore(t.Context(), archive))
	if diff := cmp.Diff(all, snapshot(t, fresh)); diff != "" {
		t.Errorf("the restored tree (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(fresh, ".git", "HEAD")); err != nil {
		t.Error("a repository that the agent made was not kept")
	}
}

func TestHeadAsBase(t *testing.T) {
	dir, commit := newRepository(t)
	tr := &changes.Tree{Root: dir, State: t.TempDir(), Against: changes.Head}
	write(t, dir, files{"readme.md": "changed\n"})
	if s := read(t, tr); s.BaseCommit != commit || len(s.Files) != 1 {
		t.Errorf("a branch: %+v", s)
	}
	git(t, dir, "pack-refs", "--all")
	if s := read(t, tr); s.BaseCommit != commit {
		t.Errorf("packed refs: %+v", s)
	}
	git(t, dir, "checkout", "--quiet", "--detach")
	if s := read(t, tr); s.BaseCommit != commit {
		t.Errorf("a detached HEAD: %+v", s)
	}
	for name, prepare := range map[string]func(dir string){
		"not a git repository": func(string) {},
		"has no commit yet":    func(dir string) { git(t, dir, "init", "--quiet") },
		"linked worktree":      func(dir string) { write(t, dir, files{".git": "gitdir: /elsewhere"}) },
		"HEAD refers to":       func(dir string) { write(t, dir, files{".git/HEAD": "ref: ../../etc/passwd"}) },
	} {
		other := t.TempDir()
		prepare(other)
		_, err := (&changes.Tree{Root: other, State: t.TempDir(), Against: changes.Head}).Read(t.Context())
		if !errors.Is(err, changes.ErrNoBase) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHostileRepository checks that nothing in the workspace makes git run a program.
func TestHostileRepository(t *testing.T) {
	dir, commit := newRepository(t)
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	must(t, os.WriteFile(program, []byte("#!/bin/sh\ntouch "+ran+"\ncat\n"), 0o755))
	for _, setting := range []string{
		"core.fsmonitor", "core.hooksPath", "diff.external", "diff.bad.textconv", "diff.bad.command", "filter.bad.clean", "filter.bad.smudge", "filter.bad.process",
		"core.sshCommand", "core.pager", "core.editor", "core.alternateRefsCommand", "gpg.program", "credential.helper", "remote.origin.uploadpack", "merge.bad.driver",
	} {
		git(t, dir, "config", setting, program)
	}
	git(t, dir, "config", "extensions.partialClone", "origin")
	git(t, dir, "config", "core.worktree", "/")
	write(t, dir, files{".gitattributes": "* filter=bad diff=bad merge=bad\n", "readme.md": "changed\n", "sub/x": "y"})
	for _, hook := range []string{"post-checkout", "post-index-change", "fsmonitor-watchman", "reference-transaction"} {
		write(t, dir, files{".git/hooks/" + hook: "+x #!/bin/sh\ntouch " + ran + "\n", ".git/info/attributes": "* filter=bad\n"})
	}
	nested := filepath.Join(dir, "sub")
	git(t, nested, "init", "--quiet")
	git(t, nested, "config", "core.fsmonitor", program)

	tr := tree(t, dir, commit)
	s := read(t, tr)
	if got := describe(s); len(got) != 3 || got[2] != "Added sub/x +1 -0" {
		t.Errorf("files: %q", got)
	}
	archive, err := tr.Archive(t.Context())
	must(t, err)
	must(t, tr.Restore(t.Context(), archive))
	if _, err := os.Stat(ran); err == nil {
		t.Fatal("a program of the workspace ran")
	}
}

func TestLinksAndSpecialFiles(t *testing.T) {
	dir, commit := newRepository(t)
	outside := t.TempDir()
	write(t, outside, files{"secret": "canary"})
	must(t, os.RemoveAll(filepath.Join(dir, "src")))
	write(t, dir, files{"src": "-> " + outside, "direct": "-> " + outside + "/secret", "closed/file": "x", "unreadable": "x", ".GIT/config": "x", "git~1": "x"})
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	must(t, os.Remove(filepath.Join(dir, "readme.md")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "readme.md"), 0o600))
	must(t, os.Chmod(filepath.Join(dir, "unreadable"), 0))
	tr := tree(t, dir, commit)
	s := read(t, tr)
	archive, err := tr.Archive(t.Context())
	must(t, err)
	if strings.Contains(s.Diff, "canary") || strings.Contains(string(archive), "canary") {
		t.Fatal("a link was followed out of the workspace")
	}
	if os.Getuid() != 0 && !strings.Contains(s.Message, "unreadable") {
		t.Errorf("the message does not name what cannot be read: %q", s.Message)
	}
	if got := strings.Join(describe(s), "\n"); !strings.Contains(got, "Deleted readme.md") || !strings.Contains(got, "Deleted src/a.go") || !strings.Contains(got, "Added git~1") {
		t.Errorf("files:\n%s", got)
	}
}

func TestLimits(t *testing.T) {
	dir, commit := newRepository(t)
	tr := tree(t, dir, commit)
	random := make([]byte, 33<<20)
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(random) // it never fails
	must(t, os.WriteFile(filepath.Join(dir, "noise"), random, 0o600))
	if _, err := tr.Archive(t.Context()); !errors.Is(err, changes.ErrTooLarge) || !strings.Contains(err.Error(), "noise") {
		t.Errorf("a large patch: %v", err)
	}
	must(t, os.Truncate(filepath.Join(dir, "noise"), 1<<40)) // a sparse file, which takes no space
	if s := read(t, tr); !s.TooLarge || !strings.Contains(s.Message, "noise") {
		t.Errorf("a huge file: %+v", s)
	}
	must(t, os.WriteFile(filepath.Join(dir, "noise"), []byte(strings.Repeat("0123456789\n", 200_000)), 0o600))
	if s := read(t, tr); !s.DiffTruncated || len(s.Diff) > changes.MaxDiff || !strings.HasSuffix(s.Diff, "\n") {
		t.Errorf("a long diff: truncated %v, %d bytes", s.DiffTruncated, len(s.Diff))
	}
	plain := t.TempDir()
	must(t, os.WriteFile(filepath.Join(plain, "noise"), random, 0o600))
	if _, err := (&changes.Tree{Root: plain, State: t.TempDir(), Against: changes.Nothing}).Archive(t.Context()); !errors.Is(err, changes.ErrTooLarge) {
		t.Errorf("a large tar: %v", err)
	}
}

// TestDamagedRepository checks the error of an agent's workspace whose repository was removed.
func TestDamagedRepository(t *testing.T) {
	dir, commit := newRepository(t)
	must(t, os.RemoveAll(filepath.Join(dir, ".git")))
	if _, err := tree(t, dir, commit).Archive(t.Context()); !errors.Is(err, changes.ErrNoBase) {
		t.Errorf("got %v", err)
	}
}
