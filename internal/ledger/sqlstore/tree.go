// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"strings"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// Tree implements ledger.Reports. It reads a page of agents, and then what just those agents used.
func (s *Store) Tree(ctx context.Context, root string, page ledger.Page) (ledger.List[ledger.TreeNode], error) {
	var nodes ledger.List[ledger.TreeNode]
	err := s.read(ctx, func(db querier) error {
		w := where{conditions: []string{"expired_at IS NULL"}}
		w.add("root_uid = ", root)
		agents, err := agentPage(ctx, db, &w, page)
		if err != nil {
			return err
		}
		nodes.Next = agents.Next
		index := make(map[string]int, len(agents.Items))
		for i, a := range agents.Items {
			nodes.Items = append(nodes.Items, ledger.TreeNode{Agent: a})
			index[a.UID] = i
		}
		return addTotals(ctx, db, nodes.Items, index)
	})
	return nodes, s.fail("read tree of "+root, err)
}

// addTotals asks for the usage of the nodes; their number is bounded by the size of a page.
func addTotals(ctx context.Context, db querier, nodes []ledger.TreeNode, index map[string]int) error {
	if len(nodes) == 0 {
		return nil
	}
	var w where
	uids := make([]string, len(nodes))
	for i := range nodes {
		uids[i] = w.arg(nodes[i].UID)
	}
	these := ` WHERE agent_uid IN (` + strings.Join(uids, ", ") + `) GROUP BY agent_uid`

	models, err := list(ctx, db, scanUsed, `SELECT agent_uid, `+callTotals()+` FROM model_calls`+these, w.args...)
	if err != nil {
		return err
	}
	for _, m := range models {
		nodes[index[m.agent]].Models = m.totals
	}
	tools, err := list(ctx, db, scanCount, `SELECT agent_uid, COUNT(*) FROM tool_calls`+these, w.args...)
	if err != nil {
		return err
	}
	for _, t := range tools {
		nodes[index[t.agent]].Tools = t.count
	}
	return nil
}

type used struct {
	agent  string
	totals ledger.CallTotals
}

func scanUsed(r row) (used, error) {
	var u used
	err := r.Scan(append([]any{&u.agent}, callTotalsInto(&u.totals)...)...)
	return u, err
}

type counted struct {
	agent string
	count int64
}

func scanCount(r row) (counted, error) {
	var c counted
	err := r.Scan(&c.agent, &c.count)
	return c, err
}
