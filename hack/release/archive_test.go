// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestArchivesAreReproducible(t *testing.T) {
	archive := func(modified time.Time) (content []byte, files string) {
		dir, out := t.TempDir(), filepath.Join(t.TempDir(), "a.tar.gz")
		for _, name := range []string{"index.html", "assets/page.js", ".gitkeep"} {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, modified, modified); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), "./archive.sh", dir, out, "web/dist")
		cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000")
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		content, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		listed, err := exec.CommandContext(t.Context(), "tar", "-tzf", out).Output()
		if err != nil {
			t.Fatal(err)
		}
		return content, string(listed)
	}
	first, files := archive(time.Unix(1600000000, 0))
	second, _ := archive(time.Unix(1650000000, 0))
	if !bytes.Equal(first, second) {
		t.Error("the same files with other times give another archive")
	}
	want := "web/dist/\nweb/dist/assets/\nweb/dist/assets/page.js\nweb/dist/index.html\n"
	if files != want {
		t.Errorf("the archive has\n%swant\n%s", files, want)
	}
}
