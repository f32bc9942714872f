// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnpinnedImagesAreRefused(t *testing.T) {
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for content, unpinned := range map[string]string{
		"FROM --platform=$BUILDPLATFORM golang:1.26" + digest + " AS build\nFROM scratch AS operator\nFROM build\n": "",
		"FROM golang:1.26 AS build\n": "golang:1.26",
		"from debian:13-slim" + digest + "\nfrom --platform=linux/amd64 busybox\n": "busybox",
		"FROM golang:1.26@sha256:latest\n":                                         "golang:1.26@sha256:latest",
	} {
		file := filepath.Join(t.TempDir(), "Dockerfile")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "./pinned.sh", file).CombinedOutput()
		if (err == nil) != (unpinned == "") || !strings.Contains(string(out), unpinned) {
			t.Errorf("%s: %v, %s", content, err, out)
		}
	}
}

// TestReleasesCheckBaseImages checks that a release runs the check, and that Renovate writes the digests.
func TestReleasesCheckBaseImages(t *testing.T) {
	for file, part := range map[string]string{"build.sh": "\nif ! hack/release/pinned.sh Dockerfile && [ -n \"${IMAGE_PUSH:-}${RELEASE_SIGNING_KEY:-}\" ]; then\n", "../../renovate.json": `"docker:pinDigests"`} {
		text, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), part) {
			t.Errorf("%s does not have %s", file, part)
		}
	}
}
