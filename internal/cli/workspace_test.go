// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nestor-dev/nestor/internal/history"
	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
	"github.com/nestor-dev/nestor/internal/tool/workspace/files"
	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
)

// repository is the workspace of the chats that are called first.
type repository struct{ tree *changes.Tree }

func (r repository) FindWorkspace(_ context.Context, _, _, name string) (changes.Workspace, error) {
	if name != "first" {
		return nil, fmt.Errorf("%w: the AgentChat has no spec.workspace", changes.ErrNoWorkspace)
	}
	return r, nil
}

func (r repository) Owner() string  { return "uid" }
func (r repository) Source() string { return changes.SourceGit }
func (r repository) Changes(ctx context.Context) (*changes.Summary, error) {
	summary, err := r.tree.Read(ctx)
	return &summary, err
}

func (r repository) Archive(ctx context.Context) ([]byte, bool, error) {
	archive, err := r.tree.Archive(ctx)
	return archive, true, err
}

func (r repository) ResolvePath(_ context.Context, _ changes.AgentRef, cwd, path string) (string, error) {
	return files.Resolve(cwd, path)
}

func (r repository) File(_ context.Context, path string) (*files.File, error) {
	if path == "stopped.txt" {
		return nil, fmt.Errorf("%w: it starts", files.ErrUnavailable)
	}
	root, err := fsroot.Open(r.tree.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := files.Read(root, "", path)
	return &file, err
}

func TestWorkspaceScripts(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", "git init -q . && echo one > notes.md && git add . && git -c user.name=a -c user.email=a@example.com commit -qm a && echo two > notes.md")
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if err := os.WriteFile(filepath.Join(dir, "new.bin"), []byte("\x00\x01"), 0o600); err != nil {
		t.Fatal(err)
	}
	serveHistory(t, func(o *history.Options) {
		o.Workspaces = repository{&changes.Tree{Root: dir, State: t.TempDir(), Against: changes.Head}}
	})
	runScripts(t, "testdata/workspace")
}
