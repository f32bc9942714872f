// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository creates a small project with two releases, the second of which is not tagged yet.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	changelog := "# Changelog\n\n## Unreleased\n\n- Something new.\n\n## 0.1.0\n\n- The beginning.\n"
	if err := os.WriteFile(filepath.Join(dir, "CHANGELOG.md"), []byte(changelog), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."}, {"commit", "-qm", "Begin"}, {"tag", "v0.1.0"},
		{"commit", "-q", "--allow-empty", "-m", "Add something new"},
	} {
		cmd := exec.Command("git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Dir = dir
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, output)
		}
	}
	return dir
}

func notes(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	script, err := filepath.Abs("notes.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(script, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestNotesHaveChangesAndCommits(t *testing.T) {
	dir := repository(t)
	for version, want := range map[string]struct{ has, lacks []string }{
		"0.1.0": {has: []string{"# Nestor 0.1.0", "- The beginning.", "- Begin ("}, lacks: []string{"Something new", "Add something new"}},
		"0.2.0": {has: []string{"# Nestor 0.2.0", "- Something new.", "## Commits since v0.1.0", "- Add something new ("}, lacks: []string{"The beginning", "- Begin ("}},
	} {
		text, err := notes(t, dir, version)
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, output := range want.has {
			if !strings.Contains(text, output) {
				t.Errorf("the notes of %s lack %q:\n%s", version, output, text)
			}
		}
		for _, output := range want.lacks {
			if strings.Contains(text, output) {
				t.Errorf("the notes of %s have %q:\n%s", version, output, text)
			}
		}
	}
}

func TestNotesNameTheImages(t *testing.T) {
	dir, images := repository(t), t.TempDir()
	digest := strings.Repeat("ab", 32)
	for _, name := range []string{"nestor-operator", "postgres"} {
		bill := `{"documentNamespace": "https://nestor.dev/spdx/` + name + `/` + digest + `"}`
		if err := os.WriteFile(filepath.Join(images, name+".spdx.json"), []byte(bill), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := notes(t, dir, "0.2.0", images)
	if err != nil || !strings.Contains(text, "| `nestor-operator` | `sha256:"+digest+"` |") || strings.Contains(text, "postgres") {
		t.Errorf("%v:\n%s", err, text)
	}
}

func TestNotesNeedAVersion(t *testing.T) {
	var failed *exec.ExitError
	if text, err := notes(t, repository(t)); !errors.As(err, &failed) || !strings.Contains(text, "usage: notes.sh VERSION") {
		t.Errorf("%v: %s", err, text)
	}
}
