// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"errors"
)

// ErrNoWorkspace is wrapped by the error for an object that does not exist or has no workspace. The error's text is for people.
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
}
