// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestFiles checks the files of the release in RELEASE_DIR: their checksums, the plugin, and that the archives of
// images have the digests that everything else refers to.
func TestFiles(t *testing.T) {
	if os.Getenv("RELEASE_DIR") == "" {
		t.Skip("make release-test checks the files of a release")
	}
	dir, version := releaseDir(t)
	sums := exec.Command("sha256sum", "--quiet", "--strict", "--check", "SHA256SUMS")
	sums.Dir = dir
	execute(t, sums)
	t.Run("plugin", func(t *testing.T) {
		unpacked := t.TempDir()
		archive := fmt.Sprintf("kubectl-nestor_v%s_%s_%s.tar.gz", version, runtime.GOOS, runtime.GOARCH)
		execute(t, exec.Command("tar", "-xzf", filepath.Join(dir, archive), "-C", unpacked))
		kubectl := exec.Command("kubectl", "nestor", "version")
		if got := execute(t, kubectl, "PATH="+unpacked+":"+os.Getenv("PATH")); got != "kubectl-nestor "+version+"\n" {
			t.Errorf("kubectl nestor version prints %q", got)
		}
	})
	t.Run("images", func(t *testing.T) {
		list, err := os.ReadFile(filepath.Join(dir, "images.txt"))
		if err != nil {
			t.Fatal(err)
		}
		byName, err := digests(dir)
		if err != nil {
			t.Fatal(err)
		}
		for name, digest := range byName {
			if got := indexDigest(t, filepath.Join(dir, name+".tar")); got != digest || !strings.Contains(string(list), "@"+digest+"\n") {
				t.Errorf("%s.tar has the digest %s, and its bill of materials %s; the list is\n%s", name, got, digest, list)
			}
		}
	})
}

// indexDigest returns the digest of the image in an archive in OCI layout.
func indexDigest(t *testing.T, archive string) string {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // opened for reading
	for reader := tar.NewReader(file); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("%s has no index", archive)
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Name != "index.json" {
			continue
		}
		var index struct {
			Manifests []struct {
				Digest string `json:"digest"`
			} `json:"manifests"`
		}
		if err := json.NewDecoder(reader).Decode(&index); err != nil || len(index.Manifests) != 1 {
			t.Fatalf("%s has %d images: %v", archive, len(index.Manifests), err)
		}
		return index.Manifests[0].Digest
	}
}

// TestMirror runs mirror.sh with programs that only record how they were called: a registry is not available here.
func TestMirror(t *testing.T) {
	for program, want := range map[string]string{
		"skopeo": "copy --all --preserve-digests oci-archive:nestor-operator.tar docker://registry.example.com/nestor-dev/nestor-operator:1.2.3\n",
		"crane":  "push LAYOUT registry.example.com/nestor-dev/nestor-operator:1.2.3\n",
	} {
		t.Run(program, func(t *testing.T) {
			dir, path := t.TempDir(), t.TempDir()
			calls := filepath.Join(path, "calls")
			record := fmt.Sprintf("#!/bin/sh\necho \"$@\" | sed 's|/tmp/[^ ]*|LAYOUT|' >>%s\n", calls)
			for name, text := range map[string]string{
				filepath.Join(path, program):     record,
				filepath.Join(dir, "images.txt"): "nestor-dev/nestor-operator:1.2.3@sha256:0\nnestor-dev/nestor-operator:1.2.3-fips@sha256:1\n",
				filepath.Join(dir, "mirror.sh"):  content(t, "hack/release/mirror.sh"),
			} {
				if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, command := range []*exec.Cmd{
				exec.Command("tar", "-cf", "nestor-operator.tar", "images.txt"), exec.Command("sh", "-c", "sha256sum *.tar >SHA256SUMS"),
			} {
				command.Dir = dir
				execute(t, command)
			}
			mirror := exec.Command(filepath.Join(dir, "mirror.sh"), "registry.example.com")
			execute(t, mirror, "PATH="+path+":/usr/bin:/bin", "TMPDIR=/tmp")
			got, err := os.ReadFile(calls)
			if err != nil || string(got) != want {
				t.Errorf("%s was called with %q: %v", program, got, err)
			}
		})
	}
	if help := execute(t, exec.Command("./mirror.sh", "--help")); !strings.Contains(help, "skopeo or\ncrane") {
		t.Errorf("the help is %s", help)
	}
}
