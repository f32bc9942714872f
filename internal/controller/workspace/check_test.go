// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/cluster/resolve"
)

func TestCwdHasAgentDirectoryPrefix(t *testing.T) {
	for name, tc := range map[string]struct{ cwd, arguments, want string }{
		"no directory":          {"", `{"path":"a"}`, `{"path":"a"}`},
		"a directory":           {"src", `{"path":"a"}`, `{"cwd":"src","path":"a"}`},
		"a directory within it": {"src", `{"cwd":"api","path":"a"}`, `{"cwd":"src/api","path":"a"}`},
		"the way out":           {"src", `{"cwd":"../etc","path":"a"}`, `{"cwd":"src/../etc","path":"a"}`}, // the server rejects it
	} {
		t.Run(name, func(t *testing.T) {
			got, err := prefixCwd(tc.cwd, []byte(tc.arguments))
			if err != nil || string(got) != tc.want {
				t.Errorf("within(%q, %s) = %s, %v; want %s", tc.cwd, tc.arguments, got, err, tc.want)
			}
		})
	}
	if _, err := prefixCwd("src", []byte(`{"cwd":"/etc"}`)); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Errorf("an absolute cwd: %v", err)
	}
}

func TestAllowedDirectories(t *testing.T) {
	base := t.TempDir()
	allowed, other := filepath.Join(base, "allowed"), filepath.Join(base, "other")
	for _, dir := range []string{allowed, other, filepath.Join(allowed, "project"), filepath.Join(base, "allowed-not")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file, link := filepath.Join(allowed, "file"), filepath.Join(allowed, "link")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(other, link)); err != nil {
		t.Fatal(err)
	}
	roots, err := realPaths([]string{allowed})
	if err != nil {
		t.Fatal(err)
	}
	d := newDirectories(Options{LocalRoots: roots})
	for path, want := range map[string]string{
		allowed: "", filepath.Join(allowed, "project"): "",
		other: "is not below", link: "is not below", filepath.Join(base, "allowed-not"): "is not below", "/": "is not below",
		file: "is not a directory", filepath.Join(allowed, "missing"): "cannot open the directory",
	} {
		_, err := d.check(path)
		var missing *resolve.Missing
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", path, err)
		case want != "" && (!errors.As(err, &missing) || !strings.Contains(missing.Message, want)):
			t.Errorf("%s: %v, want a message with %q", path, err, want)
		}
	}
	if _, err := newDirectories(Options{}).check(allowed); err == nil || !strings.Contains(err.Error(), "--local-workspaces") {
		t.Errorf("outside local mode: %v", err)
	}
	if _, err := realPaths([]string{filepath.Join(base, "missing")}); err == nil {
		t.Error("a root that does not exist was accepted")
	}
}
