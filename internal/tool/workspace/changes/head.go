// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"fmt"
	"os"
	"strings"

	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
)

// maxRef and maxPacked bound the files of a repository that are read to find its commit.
const (
	maxRef    = 4 << 10
	maxPacked = 16 << 20
)

// head returns the commit that is checked out. It reads the repository's files, because git would read its
// configuration.
func head(dir string) (string, error) {
	root, err := fsroot.Open(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Stat(".git")
	if err != nil {
		return "", fmt.Errorf("%w: the workspace is not a git repository", ErrNoBase)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%w: the workspace is a linked worktree or a submodule of another repository", ErrNoBase)
	}
	content, err := root.ReadFile(".git/HEAD", maxRef)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoBase, err)
	}
	name := strings.TrimSpace(string(content))
	if ref, ok := strings.CutPrefix(name, "ref: "); ok {
		if name, err = resolve(root, strings.TrimSpace(ref)); err != nil {
			return "", err
		}
	}
	if !isObjectName(name) {
		return "", fmt.Errorf("%w: the repository's HEAD cannot be read", ErrNoBase)
	}
	return name, nil
}

// resolve returns the commit of a branch, from its own file or from that of packed refs.
func resolve(root *fsroot.Root, ref string) (string, error) {
	if !strings.HasPrefix(ref, "refs/") {
		return "", fmt.Errorf("%w: HEAD refers to %s", ErrNoBase, fsroot.Display(ref))
	}
	if content, err := root.ReadFile(".git/"+ref, maxRef); err == nil {
		return strings.TrimSpace(string(content)), nil
	}
	packed, err := root.ReadFile(".git/packed-refs", maxPacked)
	if err != nil && !os.IsNotExist(err) {
		packed = nil
	}
	for line := range strings.Lines(string(packed)) {
		if commit, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == ref {
			return commit, nil
		}
	}
	return "", fmt.Errorf("%w: the branch %s has no commit yet", ErrNoBase, fsroot.Display(strings.TrimPrefix(ref, "refs/heads/")))
}

// isObjectName reports whether text is the full name of a git object.
func isObjectName(name string) bool {
	return (len(name) == 40 || len(name) == 64) && strings.Trim(name, "0123456789abcdef") == ""
}
