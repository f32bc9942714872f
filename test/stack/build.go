// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Build builds the programs of a stack, and more packages of this module, into a directory, for callers that start several stacks of the
// same programs.
//
// Linking takes seconds, and the Go tool does not cache it. All suites therefore build into one shared directory, where the Go tool links
// only what has changed, and each suite hard-links the resulting files.
func Build(ctx context.Context, dir string, more ...string) error {
	packages := append([]string{"./cmd/nestor-operator", "./cmd/nestor-gateway", "./cmd/nestor-scripted-model"}, more...)
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	shared := filepath.Join(root, "bin", "test")
	unlock, err := lock(shared)
	if err != nil {
		return err
	}
	defer unlock()
	// The flags are those of releases, see the Makefile. Without debug information linking takes half the time; stack traces and profiles
	// do not need it.
	args := append([]string{"build", "-tags=grpcnotrace", "-ldflags=-s -w", "-o", shared + string(filepath.Separator)}, packages...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", strings.Join(packages, ", "), err, output)
	}
	for _, p := range packages {
		name := filepath.Base(p)
		if err := linkOrCopy(filepath.Join(shared, name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	return nil
}

// lock creates a directory and locks it against other processes that build into it.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the directory of the programs: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the directory of the programs: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the directory of the programs: %w", err), file.Close())
	}
	return func() { _ = file.Close() }, nil // closing it unlocks it
}

// linkOrCopy creates a hard link, or a copy if the file system cannot link. The Go tool replaces files instead of writing into them, so a
// link keeps its content.
func linkOrCopy(from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

func moduleRoot(ctx context.Context) (string, error) {
	output, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(output))), nil
}
