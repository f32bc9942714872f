// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"slices"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// Runs implements ledger.Reports. It reads a page of agents, and then the usage of these agents.
func (s *Store) Runs(ctx context.Context, filter ledger.AgentFilter, page ledger.Page) (ledger.List[ledger.Run], error) {
	var runs ledger.List[ledger.Run]
	err := s.read(ctx, func(db querier) error {
		w := agentsWhere(filter)
		agents, err := agentPage(ctx, db, &w, page)
		if err != nil {
			return err
		}
		runs.Next = agents.Next
		for _, a := range agents.Items {
			runs.Items = append(runs.Items, ledger.Run{Agent: a})
		}
		if err := addTotals(ctx, db, runs.Items); err != nil {
			return err
		}
		return markSuperseded(ctx, db, runs.Items)
	})
	return runs, s.fail("list runs", err)
}

func markSuperseded(ctx context.Context, db querier, runs []ledger.Run) error {
	if len(runs) == 0 {
		return nil
	}
	var w where
	these := uidsOf(runs, &w)
	uids, err := list(ctx, db, scanText, `SELECT uid FROM agents WHERE uid IN (`+these+`) AND `+superseded, w.args...)
	for i := range runs {
		runs[i].Superseded = slices.Contains(uids, runs[i].UID)
	}
	return err
}

func uidsOf(runs []ledger.Run, w *where) string {
	uids := make([]string, len(runs))
	for i := range runs {
		uids[i] = runs[i].UID
	}
	return addArgs(w, uids)
}

func scanText(r row) (string, error) {
	var text string
	err := r.Scan(&text)
	return text, err
}

// addTotals reads the usage of the runs; their number is bounded by the size of a page.
func addTotals(ctx context.Context, db querier, runs []ledger.Run) error {
	if len(runs) == 0 {
		return nil
	}
	index := make(map[string]int, len(runs))
	for i := range runs {
		index[runs[i].UID] = i
	}
	var w where
	these := ` WHERE agent_uid IN (` + uidsOf(runs, &w) + `) GROUP BY agent_uid`

	scanTotals := into(func(m *ofRun[ledger.CallTotals]) []any { return append([]any{&m.agent}, callTotalsInto(&m.value)...) })
	models, err := list(ctx, db, scanTotals, `SELECT agent_uid, `+callTotals()+` FROM model_calls`+these+`, currency`, w.args...)
	if err != nil {
		return err
	}
	for _, m := range models {
		run := &runs[index[m.agent]]
		run.Models = run.Models.Plus(m.value)
	}
	scanCount := into(func(t *ofRun[int64]) []any { return []any{&t.agent, &t.value} })
	tools, err := list(ctx, db, scanCount, `SELECT agent_uid, COUNT(*) FROM tool_calls`+these, w.args...)
	if err != nil {
		return err
	}
	for _, t := range tools {
		runs[index[t.agent]].Tools = t.value
	}
	return nil
}

// ofRun is a value for the run of an agent.
type ofRun[T any] struct {
	agent string
	value T
}
