// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nestor-dev/nestor/internal/tool/workspace/files"
	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
)

func TestFilesFromOutsideAreRefused(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Link(outside, filepath.Join(dir, "hard")), os.Symlink(outside, filepath.Join(dir, "soft"))); err != nil {
		t.Fatal(err)
	}
	root, err := fsroot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"hard", "soft"} {
		if got, err := files.Read(root, "", name); !errors.Is(err, files.ErrRefused) || got.Content != "" {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}
