// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package files_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/tool/workspace/files"
)

func pack(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var archive bytes.Buffer
	out := tar.NewWriter(&archive)
	for _, header := range entries {
		content := strings.Repeat("x", int(header.Size))
		if err := out.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

func TestKeptFilesAreRead(t *testing.T) {
	archive := pack(t,
		tar.Header{Name: "dir/", Typeflag: tar.TypeDir}, tar.Header{Name: "dir/a", Typeflag: tar.TypeReg, Size: 3},
		tar.Header{Name: "large", Typeflag: tar.TypeReg, Size: files.MaxText + 1}, tar.Header{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "dir"})
	for path, want := range map[string]files.File{
		"dir/a": {Path: "dir/a", State: files.Text, Content: "xxx"}, "large": {Path: "large", State: files.TooLarge},
		"dir/b": {Path: "dir/b", State: files.Missing}, "di": {Path: "di", State: files.Missing},
	} {
		if got, err := files.ReadTar(archive, "", path); err != nil || got != want {
			t.Errorf("%s: got %.100v, %v", path, got, err)
		}
	}
	if got, err := files.ReadTar(archive, "dir", "a"); err != nil || got.Content != "xxx" {
		t.Errorf("relative to cwd: %v, %v", got, err)
	}
	for _, path := range []string{"dir", "link", "link/a", "dir/a/b", "../dir/a", "/dir/a", ""} {
		if _, err := files.ReadTar(archive, "", path); !errors.Is(err, files.ErrRefused) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if got, err := files.ReadTar(nil, "", "a"); err != nil || got.State != files.Missing {
		t.Errorf("nothing was kept: %v, %v", got, err)
	}
	if _, err := files.ReadTar([]byte("not a tar"), "", "a"); err == nil || errors.Is(err, files.ErrRefused) {
		t.Errorf("a damaged archive: %v", err)
	}
}
