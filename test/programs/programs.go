// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package programs has what tests do about programs that a machine may not have.
package programs

import (
	"context"
	"os"
	"os/exec"
	"strings"
)

// T has the methods of tests and specs that this package uses.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Need skips the test if a program is not installed. In CI, where all programs are needed, the test fails.
func Need(t T, name string) {
	t.Helper()
	_, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("%s is needed in CI: %v", name, err)
	}
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
}

// GitEnviron is the environment of git: a person commits, and the configuration of the machine does not matter.
func GitEnviron() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
}

// Script runs commands of a shell, with git, in a directory, and returns their output.
func Script(t interface {
	T
	Context() context.Context
}, dir, commands string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", commands)
	cmd.Dir, cmd.Env = dir, GitEnviron()
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", commands, err, output)
	}
	return strings.TrimSpace(string(output))
}
