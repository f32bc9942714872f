// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/nestor-dev/nestor/internal/ledger"
)

const (
	selectWorkspace = `SELECT owner_uid, agent_uid, source, captured_at, summary, archive FROM workspace_changes WHERE `
	keepWorkspace   = `INSERT INTO workspace_changes (owner_uid, agent_uid, source, captured_at, summary, archive) VALUES ($1, $6, $2, $3, $4, $5)
	ON CONFLICT (owner_uid) DO UPDATE SET agent_uid = excluded.agent_uid, source = excluded.source, captured_at = excluded.captured_at, summary = excluded.summary, archive = excluded.archive`
	// dropWorkspaces deletes old changes without a history: that of their agents has just been deleted, or there never was
	// one.
	dropWorkspaces = `DELETE FROM workspace_changes WHERE captured_at < $1 AND owner_uid IN (
	SELECT w.owner_uid FROM workspace_changes w WHERE w.captured_at < $1 AND NOT EXISTS (SELECT 1 FROM agents a WHERE a.uid = w.agent_uid) LIMIT $2)`
)

func (s *Store) KeepWorkspace(ctx context.Context, w ledger.Workspace) error {
	if w.Owner == "" || w.CapturedAt.IsZero() || !json.Valid(w.Summary) {
		return fmt.Errorf("keep the workspace of %q: %w: it needs an owner, a time and a summary", w.Owner, ledger.ErrInvalid)
	}
	archive := append([]byte{}, w.Archive...) // nil would be NULL
	return s.transact(ctx, "keep the workspace of "+w.Owner, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, statement(keepWorkspace, text(w.Owner), text(w.Source), micros(w.CapturedAt), text(string(w.Summary)), archive, text(cmp.Or(w.Agent, w.Owner))))
		return err
	})
}

func (s *Store) WorkspaceOf(ctx context.Context, owner string) (ledger.Workspace, error) {
	return s.workspace(ctx, selectWorkspace+`owner_uid = $1`, owner)
}

func (s *Store) WorkspaceOfAgent(ctx context.Context, agent string) (ledger.Workspace, error) {
	return s.workspace(ctx, selectWorkspace+`agent_uid = $1 ORDER BY captured_at DESC LIMIT 1`, agent)
}

func (s *Store) workspace(ctx context.Context, query, uid string) (ledger.Workspace, error) {
	workspaces, err := list(ctx, s.driver.Reader(), scanWorkspace, query, text(uid))
	if err == nil && len(workspaces) == 0 {
		return ledger.Workspace{}, fmt.Errorf("workspace of %s: %w", uid, ledger.ErrNotFound)
	}
	if err != nil {
		return ledger.Workspace{}, s.fail("read a workspace", err)
	}
	return workspaces[0], nil
}

func scanWorkspace(r row) (ledger.Workspace, error) {
	var w ledger.Workspace
	var captured int64
	var summary string
	err := r.Scan(&w.Owner, &w.Agent, &w.Source, &captured, &summary, &w.Archive)
	w.CapturedAt, w.Summary = fromMicros(captured), json.RawMessage(summary)
	return w, err
}
