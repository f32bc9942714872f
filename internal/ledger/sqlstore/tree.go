// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// Tree implements ledger.Reports. It reads a page of agents, and then the usage of these agents.
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

// Runs implements ledger.Reports.
func (s *Store) Runs(ctx context.Context, filter ledger.AgentFilter, page ledger.Page) (ledger.List[ledger.Run], error) {
	var runs ledger.List[ledger.Run]
	err := s.read(ctx, func(db querier) error {
		w := agentsWhere(filter)
		agents, err := agentPage(ctx, db, &w, page)
		if err != nil {
			return err
		}
		runs.Next = agents.Next
		nodes := make([]ledger.TreeNode, len(agents.Items))
		index := make(map[string]int, len(nodes))
		for i, a := range agents.Items {
			nodes[i].Agent = a
			index[a.UID] = i
		}
		if err := addTotals(ctx, db, nodes, index); err != nil {
			return err
		}
		runs.Items, err = markSuperseded(ctx, db, nodes)
		return err
	})
	return runs, s.fail("list runs", err)
}

// markSuperseded marks the nodes whose names newer agents have.
func markSuperseded(ctx context.Context, db querier, nodes []ledger.TreeNode) ([]ledger.Run, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	var w where
	these := uidsOf(nodes, &w)
	uids, err := list(ctx, db, scanText, `SELECT uid FROM agents WHERE uid IN (`+these+`) AND `+superseded, w.args...)
	if err != nil {
		return nil, err
	}
	runs := make([]ledger.Run, len(nodes))
	for i, node := range nodes {
		runs[i] = ledger.Run{TreeNode: node, Superseded: slices.Contains(uids, node.UID)}
	}
	return runs, nil
}

func uidsOf(nodes []ledger.TreeNode, w *where) string {
	uids := make([]string, len(nodes))
	for i := range nodes {
		uids[i] = w.arg(nodes[i].UID)
	}
	return strings.Join(uids, ", ")
}

func scanText(r row) (string, error) {
	var text string
	err := r.Scan(&text)
	return text, err
}

// addTotals reads the usage of the nodes; their number is bounded by the size of a page.
func addTotals(ctx context.Context, db querier, nodes []ledger.TreeNode, index map[string]int) error {
	if len(nodes) == 0 {
		return nil
	}
	var w where
	these := ` WHERE agent_uid IN (` + uidsOf(nodes, &w) + `) GROUP BY agent_uid`

	models, err := list(ctx, db, scanTotals, `SELECT agent_uid, `+callTotals()+` FROM model_calls`+these, w.args...)
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

type agentTotals struct {
	agent  string
	totals ledger.CallTotals
}

func scanTotals(r row) (agentTotals, error) {
	var u agentTotals
	err := r.Scan(append([]any{&u.agent}, callTotalsInto(&u.totals)...)...)
	return u, err
}

type agentCount struct {
	agent string
	count int64
}

func scanCount(r row) (agentCount, error) {
	var c agentCount
	err := r.Scan(&c.agent, &c.count)
	return c, err
}
