// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package fsroot_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
)

func TestResolve(t *testing.T) {
	for _, c := range []struct{ cwd, name, want string }{
		{"", "", "."}, {"", ".", "."}, {"", "a", "a"}, {"", "./a//b/", "a/b"}, {"a", "", "a"}, {"a/b", "c", "a/b/c"}, {".", "a", "a"}, {"", "..a", "..a"}, {"", "a..", "a.."}, {"", "...", "..."},
	} {
		if got, err := fsroot.Resolve(c.cwd, c.name); err != nil || got != c.want {
			t.Errorf("Resolve(%q, %q) = %q, %v; want %q", c.cwd, c.name, got, err, c.want)
		}
	}
}

// TestResolvedPathsAreLocal checks that a resolved path is always local.
func TestResolvedPathsAreLocal(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "..", ".", "/", "//", "\x00", "b", "\\", "é", "...", " "})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOf(part).Draw(t, "parts"), "") })
	rapid.Check(t, func(t *rapid.T) {
		cwd, name := text.Draw(t, "cwd"), text.Draw(t, "name")
		if got, err := fsroot.Resolve(cwd, name); err == nil && !filepath.IsLocal(got) {
			t.Fatalf("Resolve(%q, %q) = %q", cwd, name, got)
		}
	})
}

func TestFailedWriteLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	root, err := fsroot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"d", ".git/x", ".", strings.Repeat("a", 256)} {
		if _, err := root.WriteFile(name, []byte("x")); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("entries %v, error %v", entries, err)
	}
}

func TestWritesAreAtomicForReaders(t *testing.T) {
	root, err := fsroot.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	first, second := strings.Repeat("a", 1<<16), strings.Repeat("b", 1<<16)
	if _, err := root.WriteFile("f", []byte(first)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		for i := range 50 {
			content := first
			if i%2 == 0 {
				content = second
			}
			if _, err := root.WriteFile("f", []byte(content)); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
		got, err := root.ReadFile("f", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if s := string(got); s != first && s != second {
			t.Fatalf("read %d bytes of a mixture", len(s))
		}
	}
}

func TestLimitsHoldForReading(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, 101), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := fsroot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := root.ReadFile("f", 100); !errors.Is(err, fsroot.ErrTooLarge) {
		t.Errorf("error is %v", err)
	}
	if data, err := root.ReadFile("f", 101); err != nil || len(data) != 101 {
		t.Errorf("%d bytes, error %v", len(data), err)
	}
	d, err := root.OpenDir(".")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.ReadFile("f", nil, 100, nil); !errors.Is(err, fsroot.ErrTooLarge) {
		t.Errorf("error is %v", err)
	}
	// Files in /proc report size 0 but are not empty; the limit applies to what is read.
	proc, err := fsroot.Open("/proc/self")
	if err != nil {
		t.Skip("no /proc")
	}
	defer proc.Close()
	d, err = proc.OpenDir(".")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if data, err := d.ReadFile("stat", nil, 1<<20, nil); err != nil || len(data) == 0 {
		t.Errorf("%d bytes, error %v", len(data), err)
	}
}
