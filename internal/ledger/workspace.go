// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/json"
	"time"
)

type Workspaces interface {
	// KeepWorkspace stores the changes of a workspace and replaces earlier ones of the same owner.
	KeepWorkspace(ctx context.Context, w Workspace) error
	// WorkspaceOf returns the changes of the workspace of a chat or standalone task, or ErrNotFound.
	WorkspaceOf(ctx context.Context, owner string) (Workspace, error)
	// WorkspaceOfAgent is like WorkspaceOf, given the agent at the top of the owner's tree. The owner may have been deleted.
	WorkspaceOfAgent(ctx context.Context, agent string) (Workspace, error)
}

// Workspace has the changes of a workspace when it was stopped. They count in the bytes of their namespace, and are deleted with the history
// of their agent, and those of an agent without a history by their age.
type Workspace struct {
	// Owner is the UID of the chat or standalone task.
	Owner string
	// Agent is the UID of the agent at the top of the owner's tree: the sub-agent of a standalone task; empty if it is the owner.
	Agent string
	// Source is where the files come from.
	Source string
	// CapturedAt is when the changes were read. The ledger stores microseconds.
	CapturedAt time.Time
	// Summary is JSON that describes the changes; the ledger does not read it.
	Summary json.RawMessage
	// Archive restores the changes. It is empty if nothing was changed, and if the changes could not be kept.
	Archive []byte
}
