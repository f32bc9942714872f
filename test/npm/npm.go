// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package npm runs programs with packages from npm in tests.
package npm

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// T has the methods of tests and specs that this package uses.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Program is a program for node.
type Program struct {
	// Dir is the directory below hack that has the packages; make DIR installs them.
	Dir string
	// Script is its path in Dir.
	Script string
	Args   []string
	// Env is added to the environment.
	Env []string
	// options are those of node.
	options []string
}

// Command returns the command that runs a program. If its packages are missing, the test is skipped, or fails in CI.
func (p Program) Command(ctx context.Context, t T) *exec.Cmd {
	t.Helper()
	dir := filepath.Join(hack(t), p.Dir)
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	}
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("packages from npm are needed in CI: install node and run make %s: %v", p.Dir, err)
	}
	if err != nil {
		t.Skipf("packages from npm are missing: install node and run make %s: %v", p.Dir, err)
	}
	cmd := exec.CommandContext(ctx, node, append(append(p.options, p.Script), p.Args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), p.Env...)
	return cmd
}

// hack returns the path of the directory hack.
func hack(t T) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return filepath.Join(dir, "hack")
		}
		if dir == filepath.Dir(dir) {
			err = os.ErrNotExist
		}
	}
	t.Fatalf("find the module's directory: %v", err)
	return ""
}

// Output runs a program to its end, and returns what it prints.
func (p Program) Output(ctx context.Context, t T) string {
	t.Helper()
	cmd := p.Command(ctx, t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", p.Script, err, out, stderr.Bytes())
	}
	return string(out)
}
