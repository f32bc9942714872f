// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// older is the source of an earlier commit.
type older struct{ commit, dir string }

// checkOut extracts the sources of a commit from git, without touching the checkout.
func checkOut(ctx context.Context, t *testing.T, name string) older {
	t.Helper()
	commit := strings.TrimSpace(command(ctx, t, root, "git", "rev-parse", "--verify", name+"^{commit}"))
	o := older{commit: commit, dir: t.TempDir()}
	archive := filepath.Join(o.dir, "older.tar")
	command(ctx, t, root, "git", "archive", "--output", archive, commit)
	command(ctx, t, o.dir, "tar", "-xf", archive)
	if _, err := os.Stat(filepath.Join(o.dir, "api", "v1beta1")); err != nil {
		t.Skipf("%s is from before v1beta1, from which there is no upgrade: set UPGRADE_FROM to a later commit", name)
	}
	return o
}

// build builds the older operator in a directory, with the current scripted model. UPGRADE_OPERATOR is a prebuilt
// one.
func (o older) build(ctx context.Context, t *testing.T) string {
	t.Helper()
	programs := t.TempDir()
	command(ctx, t, root, "go", "build", "-o", programs, "./cmd/nestor-scripted-model")
	operator := filepath.Join(programs, "nestor-operator")
	if given := os.Getenv("UPGRADE_OPERATOR"); given != "" {
		command(ctx, t, ".", "cp", given, operator)
		return programs
	}
	command(ctx, t, o.dir, "go", "build", "-o", operator, "./cmd/nestor-operator")
	return programs
}

func install(ctx context.Context, t *testing.T, w *environment, checkout string) {
	t.Helper()
	command(ctx, t, checkout, w.Cluster.Kubectl, "--kubeconfig", w.Cluster.Kubeconfig, "replace", "-f", filepath.Join("config", "crd", "bases"))
	command(ctx, t, checkout, w.Cluster.Kubectl, "--kubeconfig", w.Cluster.Kubeconfig, "wait", "--for=condition=Established", "crd", "--all", "--timeout=3m")
}

func command(ctx context.Context, t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}
