// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

func TestTreesAreMerged(t *testing.T) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, h := range []tar.Header{
		{Typeflag: tar.TypeSymlink, Name: "./bin", Linkname: "usr/bin"},
		{Typeflag: tar.TypeDir, Name: "./bin/", Mode: 0o755},
		{Typeflag: tar.TypeReg, Name: "./bin/su", Mode: 0o4755},
		{Typeflag: tar.TypeLink, Name: "./usr/bin/gunzip", Linkname: "./bin/uncompress", Mode: 0o755},
		{Typeflag: tar.TypeReg, Name: "./usr/share/man/man1/su.1.gz", Mode: 0o644},
		{Typeflag: tar.TypeReg, Name: "./usr/share/doc/su/copyright", Mode: 0o644},
		{Typeflag: tar.TypeReg, Name: "./usr/share/doc/su/changelog.gz", Mode: 0o644},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tr := tree{}
	if err := tr.read(&packed); err != nil {
		t.Fatal(err)
	}
	tr.addSystemFiles()
	if e := tr["usr/bin/su"]; e.header.Mode != 0o755 {
		t.Errorf("su has the mode %o: no program may run as another user", e.header.Mode)
	}
	if e := tr["bin"]; e.header.Linkname != "usr/bin" {
		t.Errorf("/bin leads to %q", e.header.Linkname)
	}
	if e := tr["usr/bin"]; e.header.Typeflag != tar.TypeDir {
		t.Errorf("/usr/bin is of type %q", e.header.Typeflag)
	}
	if e := tr["usr/bin/gunzip"]; e.header.Linkname != "usr/bin/uncompress" {
		t.Errorf("the hard link leads to %q", e.header.Linkname)
	}
	for name, want := range map[string]bool{"usr/share/man/man1/su.1.gz": false, "usr/share/doc/su/copyright": true, "usr/share/doc/su/changelog.gz": false} {
		if _, got := tr[name]; got != want {
			t.Errorf("%s is there: %v", name, got)
		}
	}
}

func TestLayersAreOrderIndependent(t *testing.T) {
	at := time.Unix(1700000000, 0)
	one, other := tree{}, tree{}
	one.add("a/b", file{content: "b", mode: 0o600})
	one.link("c", "a/b")
	other.link("c", "a/b")
	other.add("a/b", file{content: "b", mode: 0o600})
	first, err := one.pack(at)
	if err != nil {
		t.Fatal(err)
	}
	second, err := other.pack(at)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("the order of additions shows in the layer")
	}
}

// TestWorkspaceHasItsTools builds the image from Debian packages and, if this machine can, runs its programs.
func TestWorkspaceHasItsTools(t *testing.T) {
	if err := checkApt(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	if testing.Short() {
		t.Skip("it downloads packages")
	}
	out := build(t, "nestor-workspace")
	image, _ := load(t, filepath.Join(out, "nestor-workspace.tar"))
	files := contents(t, image)
	for _, program := range []string{"bash", "git", "ssh", "grep", "sed", "tar", "patch", "ps", "diff", "find"} {
		if len(files["usr/bin/"+program]) == 0 {
			t.Errorf("%s is missing", program)
		}
	}
	if !bytes.Contains(files["usr/local/bin/nestor-workspace"], []byte("v1.2.3")) {
		t.Error("the program does not know its version")
	}
	bill, err := os.ReadFile(filepath.Join(out, "nestor-workspace.spdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pkg:deb/debian/git@", "pkg:deb/debian/libc6@", "pkg:golang/github.com/nestor-dev/nestor@v1.2.3"} {
		if !strings.Contains(string(bill), want) {
			t.Errorf("the bill lacks %s", want)
		}
	}
	if os.Geteuid() == 0 {
		checkTools(t, image)
	}
}

// checkTools runs programs of the image in its file system, as its user.
func checkTools(t *testing.T, image v1.Image) {
	t.Helper()
	root := t.TempDir()
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", root)
	r := mutate.Extract(image)
	defer r.Close()
	unpack.Stdin = r
	if output, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("unpack: %v: %s", err, output)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	// Container runtimes provide this; git requires it.
	device := filepath.Join(root, "dev", "null")
	if err := os.MkdirAll(filepath.Dir(device), 0o755); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), "mknod", "-m", "666", device, "c", "1", "3").CombinedOutput(); err != nil {
		t.Fatalf("make /dev/null: %v: %s", err, output)
	}
	out, err := exec.CommandContext(t.Context(), "chroot", "--userspec=65532:65532", root, "/bin/sh", "-c",
		"set -e; git --version; ssh -V 2>&1; echo a | awk '{print $1}' | sed s/a/b/; nestor-workspace --version; whoami").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"git version", "OpenSSH", "b\n", "v1.2.3", "nonroot"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in %s", want, out)
		}
	}
}
