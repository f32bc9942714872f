// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
)

// retryInterval is the retry interval of a run that waits for a directory or a claim.
const retryInterval = 5 * time.Second

// Check returns a *resolve.Missing if a workspace cannot be started.
func (w *Workspaces) Check(ctx context.Context, p *Location) error {
	if p == nil {
		return nil
	}
	err := w.check(ctx, p)
	var missing *resolve.Missing
	if errors.As(err, &missing) && missing.Reason != v1beta1.ReasonSecretNotFound {
		w.delayed.Add(p.Owner.GetNamespace())
	}
	return err
}

func (w *Workspaces) check(ctx context.Context, p *Location) error {
	if d := p.Workspace.Directory; d != nil {
		_, err := w.directories.resolve(*p)
		return err
	}
	if w.options.Image == "" {
		return unavailable("This operator runs no workspace pods: start it with --workspace-image.")
	}
	spec, err := w.pods.spec(*p)
	if err != nil {
		return unavailable("The workspace cannot be run: %s.", err)
	}
	if git := p.Workspace.Git; git != nil && git.Push != nil && strings.TrimPrefix(strings.TrimPrefix(git.Ref, "refs/"), "heads/") == p.branch() {
		return unavailable("The workspace is cloned from %s, to which its agents would push: create it again with another git.push.branch.", git.Ref)
	}
	if err := w.pods.checkReferences(ctx, spec); err != nil {
		return err
	}
	return w.pods.checkNames(ctx, spec)
}

// check returns the directory of this machine that a path leads to, with links resolved, or why it may not be a
// workspace. Only the returned path may be opened: a link on the original path may lead elsewhere by then.
func (d *directories) check(path string) (actual string, err error) {
	if len(d.options.LocalRoots) == 0 {
		return "", unavailable("A workspace of the source directory works in local mode only: start the operator with --local-workspaces, or use git, persistentVolumeClaim or emptyDir.")
	}
	actual, err = filepath.EvalSymlinks(path)
	if err != nil {
		return "", unavailable("The operator cannot open the directory %s: create it, or let the operator's user read it.", path)
	}
	if info, err := os.Stat(actual); err != nil || !info.IsDir() {
		return "", unavailable("%s is not a directory that the operator can open.", path)
	}
	for _, root := range d.options.LocalRoots {
		if inside(actual, root) {
			return actual, nil
		}
	}
	return "", unavailable("The directory %s is not below one that --local-workspaces names: %s.", path, strings.Join(d.options.LocalRoots, ", "))
}

func (d *directories) resolve(p Location) (actual string, err error) {
	path := p.Workspace.Directory.Path
	if d.options.OwnDirectory != nil {
		if path, err = d.options.OwnDirectory(path, p.Owner); err != nil {
			return "", unavailable("The operator cannot prepare the directory: %v.", err)
		}
	}
	return d.check(path)
}

func inside(path, root string) bool {
	relative, err := filepath.Rel(root, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, "../")
}

// realPaths resolves the roots of local workspaces, so that links cannot lead out of them.
func realPaths(roots []string) ([]string, error) {
	var actual []string
	for _, root := range roots {
		path, err := filepath.Abs(root)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			return nil, fmt.Errorf("open the directory for local workspaces: %w", err)
		}
		actual = append(actual, path)
	}
	return actual, nil
}

func unavailable(format string, args ...any) error {
	return &resolve.Missing{Reason: v1beta1.ReasonWorkspaceUnavailable, Message: fmt.Sprintf(format, args...)}
}
