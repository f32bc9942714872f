// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"sync"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// budgets holds what the agents of all trees have used and reserved. An agent's limit holds for everything below it.
type budgets struct {
	mu    sync.Mutex
	nodes map[string]*node
}

// node is one agent in its tree.
type node struct {
	namespace, name, parent string
	limit                   agent.Amount
	// used is what the agent itself and its finished children have used, reserved what its calls in flight may use.
	used, reserved agent.Amount
}

func newBudgets() *budgets { return &budgets{nodes: map[string]*node{}} }

// set brings the node of an agent up to its state, and gives back at the same moment what was reserved for the calls
// whose usage the state now has: in between, neither would count.
func (b *budgets) set(record ledger.Agent, s agent.State, released ...agent.Amount) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, ok := b.nodes[record.UID]
	if !ok && s.Phase.Terminal() {
		return // its parent has its usage already
	}
	if !ok {
		n = &node{namespace: record.Namespace, name: record.Name, parent: record.Parent, limit: s.Budget.Limit}
		b.nodes[record.UID] = n
	}
	n.used = s.Budget.Used
	for _, amount := range released {
		n.release(amount)
	}
}

func (n *node) release(reserved agent.Amount) {
	n.reserved.Tokens = max(0, n.reserved.Tokens-reserved.Tokens)
	n.reserved.CostMicros = max(0, n.reserved.CostMicros-reserved.CostMicros)
}

// settled forgets a child whose usage its parent has taken over.
func (b *budgets) settled(parent ledger.Agent, child string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for uid, n := range b.nodes {
		if n.parent == parent.UID && n.name == child && n.namespace == parent.Namespace {
			delete(b.nodes, uid)
		}
	}
}

func (b *budgets) forget(uid string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.nodes, uid)
}

// reserve sets an amount aside for an agent, if it and everything above it can afford it. Else nothing is reserved, and
// the reason is returned.
func (b *budgets) reserve(uid string, amount agent.Amount) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n := b.nodes[uid]; n != nil; n = b.nodes[n.parent] {
		if n.limit == (agent.Amount{}) {
			continue
		}
		budget := agent.Budget{Limit: n.limit, Used: b.total(n)}
		if _, ok := budget.Reserve(amount); !ok {
			return fmt.Sprintf("the budget of %s is used up: %d of %d tokens, %d of %d millionths of the currency are used or reserved",
				n.name, budget.Used.Tokens, n.limit.Tokens, budget.Used.CostMicros, n.limit.CostMicros)
		}
	}
	if n := b.nodes[uid]; n != nil {
		n.reserved = add(n.reserved, amount)
	}
	return ""
}

// release gives back what was reserved.
func (b *budgets) release(uid string, reserved agent.Amount) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := b.nodes[uid]; n != nil {
		n.release(reserved)
	}
}

// total is what a node and everything below it have used and reserved.
func (b *budgets) total(top *node) agent.Amount {
	var sum agent.Amount
	for _, n := range b.nodes {
		if b.below(n, top) {
			sum = add(sum, add(n.used, n.reserved))
		}
	}
	return sum
}

func (b *budgets) below(n, top *node) bool {
	for ; n != nil; n = b.nodes[n.parent] {
		if n == top {
			return true
		}
	}
	return false
}

func add(a, b agent.Amount) agent.Amount {
	return agent.Amount{Tokens: a.Tokens + b.Tokens, CostMicros: a.CostMicros + b.CostMicros}
}
