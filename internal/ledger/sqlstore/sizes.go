// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

const bytesOfNamespaces = `SELECT namespace, namespace_uid, CAST(SUM(bytes) AS BIGINT) FROM (
	SELECT namespace, namespace_uid, bytes FROM agents UNION ALL
	SELECT a.namespace, a.namespace_uid, s.bytes FROM search_agents s JOIN agents a ON a.id = s.agent UNION ALL
	SELECT a.namespace, a.namespace_uid, length(w.archive) + octet_length(w.summary) FROM workspace_changes w JOIN agents a ON a.uid = w.agent_uid
	) sizes GROUP BY namespace, namespace_uid`

// Bytes implements ledger.Sizes. Rows of agents that are being pruned still count.
func (s *Store) Bytes(ctx context.Context) ([]ledger.NamespaceBytes, error) {
	scan := into(func(b *ledger.NamespaceBytes) []any { return []any{&b.Namespace, &b.UID, &b.Bytes} })
	sums, err := list(ctx, s.driver.Reader(), scan, bytesOfNamespaces)
	return sums, s.fail("sum the bytes of namespaces", err)
}

// Pruned bodies become NULL, or JSON null in columns that cannot be NULL. The row with its usage remains for quotas.
const (
	isUnpinned    = `NOT EXISTS (SELECT 1 FROM agents p WHERE p.id = c.agent AND p.pinned_until >= $5)`
	oldModelCalls = `SELECT agent, key, (SELECT uid FROM agents WHERE id = agent), COALESCE(octet_length(CAST(response AS TEXT)), 0) +
	CASE WHEN request_chain IS NULL THEN octet_length(CAST(request AS TEXT)) ELSE 0 END
	FROM model_call_rows c WHERE (agent, key) > ($1, $2) AND finished_at < $3 AND pruned_at IS NULL AND ` + isUnpinned + ` ORDER BY agent, key LIMIT $4`
	pruneModelCall = `UPDATE model_call_rows SET request = CASE WHEN request_chain IS NULL THEN 'null' ELSE request END, response = NULL, summary = '',
	tool_calls = CASE WHEN request_chain IS NULL THEN NULL ELSE tool_calls END,
	result_form = CASE WHEN request_chain IS NULL THEN 0 ELSE result_form END, pruned_at = $1 WHERE agent = $2 AND key = $3`
	oldToolCalls = `SELECT agent, key, (SELECT uid FROM agents WHERE id = agent), COALESCE(length(output), 0)
	FROM tool_call_rows c WHERE (agent, key) > ($1, $2) AND finished_at < $3 AND pruned_at IS NULL AND (output IS NOT NULL OR output_ref IS NOT NULL)
	AND ` + isUnpinned + ` ORDER BY agent, key LIMIT $4`
	pruneToolCall = `UPDATE tool_call_rows SET output = NULL, output_ref = NULL, output_size = NULL, pruned_at = $1 WHERE agent = $2 AND key = $3`
	// deadChains selects the chains to delete. A chain is deleted when its last request is pruned and no new request
	// can continue it, be it that of a fork.
	deadChains = `SELECT agent, request_chain, (SELECT uid FROM agents WHERE id = agent) FROM (
	SELECT DISTINCT agent, request_chain FROM model_call_rows WHERE pruned_at IS NOT NULL AND request_chain IS NOT NULL) c WHERE NOT EXISTS (
	SELECT 1 FROM model_call_rows n WHERE n.agent = c.agent AND n.request_chain = c.request_chain AND (n.pruned_at IS NULL OR n.started_at >= $1))
	AND NOT EXISTS (SELECT 1 FROM agents o JOIN agents f ON f.origin_uid <> '' AND f.origin_uid = o.uid WHERE o.id = c.agent) LIMIT $2`
	// prunedInChain repeats the conditions of the index that finds these calls.
	prunedInChain = `pruned_at IS NOT NULL AND request_chain IS NOT NULL`
	bytesOfChain  = `SELECT CAST(COALESCE(SUM(octet_length(CAST(request AS TEXT))), 0) AS BIGINT) FROM model_call_rows WHERE agent = $1 AND request_chain = $2 AND ` + prunedInChain
	freeChain     = `UPDATE model_call_rows SET request = 'null', request_form = 0, tool_calls = NULL, result_form = 0, request_chain = NULL, request_place = NULL WHERE agent = $1 AND request_chain = $2 AND ` + prunedInChain
	freeBytes     = `UPDATE agents SET bytes = CASE WHEN bytes > $1 THEN bytes - $1 ELSE 0 END WHERE uid = $2`
)

// pruneProgress is the position of PruneCalls. No index finds old bodies, so the steps continue through the keys
// instead of starting over.
type pruneProgress struct {
	mu            sync.Mutex
	models, tools rowPosition
}

func (s *Store) PruneCalls(ctx context.Context, before time.Time, limit int) (int64, error) {
	s.pruned.mu.Lock()
	defer s.pruned.mu.Unlock()
	budget := ledger.Page{Limit: limit}.Size()
	var models, tools pruning
	var chains int64
	// A dead chain stays dead, so they can be found before the transaction, which keeps it short.
	dead, err := s.deadChains(ctx, min(budget, maxFreedChains))
	if err != nil {
		return 0, s.fail("find unreadable request chains", err)
	}
	err = s.driver.Write(ctx, func(tx Tx) error {
		chains, models = 0, pruning{find: oldModelCalls, prune: pruneModelCall, after: s.pruned.models, limit: budget}
		if err := models.run(ctx, tx, before); err != nil {
			return err
		}
		tools = pruning{find: oldToolCalls, prune: pruneToolCall, after: s.pruned.tools, limit: budget - int(models.count)}
		if tools.limit == 0 {
			return nil
		}
		if err := tools.run(ctx, tx, before); err != nil || tools.count == int64(tools.limit) {
			return err
		}
		var err error
		chains, err = freeChains(ctx, tx, dead)
		return err
	})
	if err != nil {
		return 0, s.fail("prune calls", err)
	}
	s.pruned.models, s.pruned.tools = models.after, tools.after
	return models.count + tools.count + chains, nil
}

// maxFreedChains bounds the chains that one step deletes.
const maxFreedChains = 50

type chain struct {
	agent, first int64
	uid          string
}

func (s *Store) deadChains(ctx context.Context, limit int) ([]chain, error) {
	scan := into(func(c *chain) []any { return []any{&c.agent, &c.first, &c.uid} })
	return list(ctx, s.driver.Reader(), scan, deadChains, micros(time.Now().Add(-ledger.ChainRestTime)), limit)
}

// freeChains deletes the requests of chains whose last request is pruned, and returns the number of chains. A request
// that was pruned earlier is part of those that continue it, and is deleted with them.
func freeChains(ctx context.Context, tx Tx, dead []chain) (int64, error) {
	if len(dead) == 0 {
		return 0, nil
	}
	slices.SortFunc(dead, func(a, b chain) int { return strings.Compare(a.uid, b.uid) }) // in the locking order of every writer
	var statements []Statement
	for _, c := range dead {
		bytes, err := tx.Int64(ctx, bytesOfChain, c.agent, c.first)
		if err != nil {
			return 0, err
		}
		statements = append(statements, statement(freeChain, c.agent, c.first), statement(freeBytes, bytes, c.uid))
	}
	_, err := tx.Exec(ctx, statements...)
	return int64(len(dead)), err
}

// rowPosition is the position of a call in the order of agents and keys.
type rowPosition struct {
	agent int64
	key   string
}

// pruning is one step through the calls of a kind. It starts after a call and ends at the last call that it pruned, or
// wraps around to the beginning at the end.
type pruning struct {
	find, prune string
	after       rowPosition
	limit       int
	count       int64
}

func (p *pruning) run(ctx context.Context, tx Tx, before time.Time) error {
	var statements []Statement
	freed, now, last := map[string]int64{}, micros(time.Now()), rowPosition{}
	err := tx.Query(ctx, func(r Row) error {
		var uid string
		var bytes int64
		if err := r.Scan(&last.agent, &last.key, &uid, &bytes); err != nil {
			return err
		}
		p.count++
		freed[uid] += bytes
		statements = append(statements, statement(p.prune, now, last.agent, last.key))
		return nil
	}, p.find, p.after.agent, p.after.key, micros(before), p.limit, now)
	if err != nil {
		return err
	}
	p.after = last
	if p.count < int64(p.limit) {
		p.after = rowPosition{}
	}
	if p.count == 0 {
		return nil
	}
	for _, uid := range slices.Sorted(maps.Keys(freed)) { // in the locking order of every writer
		statements = append(statements, statement(freeBytes, freed[uid], uid))
	}
	_, err = tx.Exec(ctx, statements...)
	return err
}
