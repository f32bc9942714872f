// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"errors"

	"github.com/nestor-dev/nestor/internal/tool/workspace/files"
)

// ErrNoWorkspace is wrapped by the error for an object that does not exist or has no workspace. The error's text is for
// people.
var ErrNoWorkspace = errors.New("there is no workspace")

// The sources of workspaces, as the history API names them.
const (
	SourceGit       = "Git"
	SourceEmptyDir  = "EmptyDir"
	SourceDirectory = "Directory"
	SourceClaim     = "Claim"
)

// Workspace is the workspace of a chat or standalone task.
type Workspace interface {
	// Owner returns the UID of the chat or task.
	Owner() string
	// Source returns where the files come from.
	Source() string
	// Changes reads the changes if the workspace runs; it returns nil if it does not.
	Changes(ctx context.Context) (*Summary, error)
	// Archive returns all changes if the workspace runs; running is false if it does not.
	Archive(ctx context.Context) (archive []byte, running bool, err error)
	// ResolvePath returns the path from the workspace's root for the cwd and path of an agent's call. Without an agent,
	// cwd is relative to the root. An error that wraps files.ErrRefused is for people.
	ResolvePath(ctx context.Context, agent AgentRef, cwd, path string) (string, error)
	// File reads a file, by its path from the root. It returns nil if no pod has the files; the next pod starts with
	// the saved changes. An error that wraps files.ErrRefused or files.ErrUnavailable is for people.
	File(ctx context.Context, path string) (*files.File, error)
}

// AgentRef names an agent by its object; the zero value names none.
type AgentRef struct{ Kind, Name string }
