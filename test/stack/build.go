// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build puts the programs of a stack into a directory, for callers that start several stacks of the same programs.
func Build(ctx context.Context, dir string, more ...string) error {
	return build(ctx, dir, append([]string{"./cmd/nestor-operator", "./cmd/nestor-scripted-model"}, more...)...)
}

// build puts programs of this module into a directory. A second time costs little: the Go tool has a cache.
func build(ctx context.Context, dir string, programs ...string) error {
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	args := append([]string{"build", "-o", dir + string(filepath.Separator)}, programs...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	if words, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", strings.Join(programs, ", "), err, words)
	}
	return nil
}

func moduleRoot(ctx context.Context) (string, error) {
	words, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(words))), nil
}
