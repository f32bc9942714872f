// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

const expireAgents = `UPDATE agents SET expired_at = $1 WHERE uid IN (
	SELECT uid FROM agents WHERE finished_at < $2 AND expired_at IS NULL AND (pinned_until IS NULL OR pinned_until < $1) ORDER BY finished_at LIMIT $3)`

// isUnused is the condition for expired agents that have no forks.
const isUnused = `a.expired_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM agents f WHERE f.origin_uid <> '' AND f.origin_uid = a.uid)`

// pruneSteps delete the rows of expired agents without forks, the agents themselves last: later steps find remaining
// rows through the agent.
var pruneSteps = [...]string{
	`DELETE FROM event_rows WHERE (agent, seq) IN (
	SELECT e.agent, e.seq FROM agents a JOIN event_rows e ON e.agent = a.id WHERE ` + isUnused + ` LIMIT $1)`,
	`DELETE FROM snapshots WHERE agent_uid IN (
	SELECT s.agent_uid FROM agents a JOIN snapshots s ON s.agent_uid = a.uid WHERE ` + isUnused + ` LIMIT $1)`,
	`DELETE FROM tool_call_rows WHERE (agent, key) IN (
	SELECT c.agent, c.key FROM agents a JOIN tool_call_rows c ON c.agent = a.id WHERE ` + isUnused + ` LIMIT $1)`,
	`DELETE FROM model_call_rows WHERE (agent, key) IN (
	SELECT c.agent, c.key FROM agents a JOIN model_call_rows c ON c.agent = a.id WHERE ` + isUnused + ` LIMIT $1)`,
	`DELETE FROM image_uses WHERE (agent_uid, digest) IN (
	SELECT u.agent_uid, u.digest FROM agents a JOIN image_uses u ON u.agent_uid = a.uid WHERE ` + isUnused + ` LIMIT $1)`,
	`DELETE FROM search_entries WHERE (agent, seq) IN (
	SELECT e.agent, e.seq FROM agents a JOIN search_entries e ON e.agent = a.id WHERE ` + isUnused + ` LIMIT $1)`,
	`DELETE FROM search_agents WHERE agent IN (
	SELECT s.agent FROM agents a JOIN search_agents s ON s.agent = a.id WHERE ` + isUnused + ` LIMIT $1)`,
	`DELETE FROM agents WHERE uid IN (SELECT a.uid FROM agents a WHERE ` + isUnused + ` LIMIT $1)`,
}

// oldQuotas delete counts that no quota needs any more. A month has at most 31 days, whatever the retention is.
var oldQuotas = [...]string{
	`DELETE FROM quota_usage WHERE hour < $1`,
	`DELETE FROM quota_namespaces WHERE settled_at < $1`,
}

const quotaRetention = 32 * 24 * time.Hour

// Prune implements ledger.Upkeep. Agents are first marked as expired, which hides them; then their rows are deleted.
// Each step runs only when the previous one has nothing left, so that reaching the limit never leaves rows without an
// agent.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (int64, error) {
	budget := int64(ledger.Page{Limit: limit}.Size())
	var deleted int64
	err := s.driver.Write(ctx, func(tx Tx) error {
		if _, err := tx.Exec(ctx, statement(expireAgents, micros(time.Now()), micros(before), budget)); err != nil {
			return err
		}
		for _, query := range oldQuotas {
			if _, err := tx.Exec(ctx, statement(query, min(micros(before), micros(time.Now().Add(-quotaRetention))))); err != nil {
				return err
			}
		}
		detached, err := s.pruneDetached(ctx, tx, budget)
		if deleted = detached; err != nil || deleted >= budget {
			return err
		}
		for _, query := range pruneSteps {
			changed, err := tx.Exec(ctx, statement(query, budget-deleted))
			if err != nil {
				return err
			}
			if deleted += changed[0]; deleted >= budget {
				return nil
			}
		}
		for _, query := range []string{dropWorkspaces, dropImages} {
			changed, err := tx.Exec(ctx, statement(query, micros(before), budget-deleted))
			if err != nil {
				return err
			}
			if deleted += changed[0]; deleted >= budget {
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return 0, s.fail("prune", err)
	}
	return deleted, nil
}

// pinTree pins an agent and those below it, whose outputs its own history refers to.
const pinTree = `UPDATE agents SET pinned_until = $1
	WHERE (uid = $2 OR root_uid = $2) AND expired_at IS NULL AND (pinned_until IS NULL OR pinned_until < $1)`

func (s *Store) Pin(ctx context.Context, uids []string, until time.Time) error {
	uids = slices.Sorted(slices.Values(uids)) // in the locking order of every writer
	return s.fail("pin", s.driver.Write(ctx, func(tx Tx) error {
		for _, uid := range uids {
			if _, err := tx.Exec(ctx, statement(pinTree, micros(until), uid)); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (s *Store) Vacuum(ctx context.Context) error { return s.fail("vacuum", s.driver.Vacuum(ctx)) }
