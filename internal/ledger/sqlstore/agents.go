// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"

	"github.com/nestor-dev/nestor/internal/ledger"
)

const agentColumns = `uid, kind, namespace, namespace_uid, name, parent_uid, root_uid, chat, role, role_revision, depth, provider, model, shard_hash, created_at,
	last_seq, status, error_kind, finished_at, origin_uid, origin_seq`

func scanAgent(r row) (ledger.Agent, error) {
	var a ledger.Agent
	var created int64
	var finished sql.NullInt64
	err := r.Scan(&a.UID, &a.Kind, &a.Namespace, &a.NamespaceUID, &a.Name, &a.Parent, &a.Root, &a.Chat, &a.Role, &a.RoleRevision, &a.Depth, &a.Provider, &a.Model,
		&a.ShardHash, &created, &a.LastSeq, &a.Status, &a.ErrorKind, &finished, &a.Origin, &a.OriginSeq)
	if err != nil {
		return ledger.Agent{}, err
	}
	a.CreatedAt = fromMicros(created)
	if finished.Valid {
		a.FinishedAt = fromMicros(finished.Int64)
	}
	return a, nil
}

func (s *Store) Agent(ctx context.Context, uid string) (ledger.Agent, error) {
	a, err := agent(ctx, s.driver.Reader(), uid)
	return a, s.fail("read agent "+uid, err)
}

func agent(ctx context.Context, db querier, uid string) (ledger.Agent, error) {
	return scanAgent(db.QueryRowContext(ctx, `SELECT `+agentColumns+` FROM agents WHERE uid = $1 AND expired_at IS NULL`, uid))
}

func (s *Store) Agents(ctx context.Context, filter ledger.AgentFilter, page ledger.Page) (ledger.List[ledger.Agent], error) {
	w := agentsWhere(filter)
	agents, err := agentPage(ctx, s.driver.Reader(), &w, page)
	return agents, s.fail("list agents", err)
}

// superseded matches rows of agents whose name a newer one has. Of two that were created at the same time, the live one
// is newer.
const superseded = `EXISTS (SELECT 1 FROM agents AS newer WHERE newer.namespace = agents.namespace AND newer.name = agents.name
	AND newer.kind = agents.kind AND newer.expired_at IS NULL
	AND (newer.created_at, newer.finished_at IS NULL, newer.uid) > (agents.created_at, agents.finished_at IS NULL, agents.uid))`

// endedWithOpenCalls matches agents that have open calls and ended in the last hour before the newest end, by the index
// on ends: the calls of an agent that ends are closed within seconds, unless its process dies, and then nothing ends
// until it is recovered.
const endedWithOpenCalls = `uid IN (SELECT recent.uid FROM agents AS recent
	WHERE recent.expired_at IS NULL AND recent.finished_at IS NOT NULL AND recent.finished_at >= (
		SELECT MAX(finished_at) FROM agents WHERE expired_at IS NULL AND finished_at IS NOT NULL) - 3600000000
	AND (EXISTS (SELECT 1 FROM model_call_rows WHERE agent = recent.id AND finished_at IS NULL)
		OR EXISTS (SELECT 1 FROM tool_call_rows WHERE agent = recent.id AND finished_at IS NULL)))`

func agentsWhere(filter ledger.AgentFilter) where {
	w := where{conditions: []string{"expired_at IS NULL"}}
	w.scope(filter.Scope, "created_at")
	w.equal("uid", filter.UID)
	w.equal("kind", filter.Kind)
	w.equal("name", filter.Name)
	w.equal("parent_uid", filter.Parent)
	if filter.Live {
		w.conditions = append(w.conditions, "finished_at IS NULL")
	}
	if filter.EndedWithOpenCalls {
		w.conditions = append(w.conditions, endedWithOpenCalls)
	}
	if hashes := filter.ShardHashes; hashes != nil {
		w.add("shard_hash >= ", hashes.From)
		w.add("shard_hash < ", hashes.To)
	}
	if filter.Newest {
		w.conditions = append(w.conditions, "NOT "+superseded)
	}
	return w
}

func agentPage(ctx context.Context, db querier, w *where, page ledger.Page) (ledger.List[ledger.Agent], error) {
	if err := w.after(page.Cursor, "created_at", "uid"); err != nil {
		return ledger.List[ledger.Agent]{}, err
	}
	agents, err := list(ctx, db, scanAgent, `SELECT `+agentColumns+` FROM agents`+w.ordered(page, "created_at", "uid"), w.args...)
	return paged(agents, page, func(a ledger.Agent) string { return timeCursor(a.CreatedAt, a.UID) }), err
}
