// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWaits_ReturnOnFailure finds examples of kubectl wait that only return if a run succeeds. TestCommands runs them, and docs/tasks/ci.md
// has one that shows the timeout.
func TestWaits_ReturnOnFailure(t *testing.T) {
	list := exec.CommandContext(t.Context(), "git", "ls-files", "*.md", "config/samples", "examples")
	list.Dir = root
	files, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(files)) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "kubectl wait") && strings.Contains(line, "--for=condition=Succeeded ") && !strings.Contains(line, "exit code 1") {
				t.Errorf("%s: %q does not return if the run fails: wait for the completionTime", name, strings.TrimSpace(line))
			}
		}
	}
}
