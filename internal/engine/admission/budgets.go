// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/money"
)

// Budgets holds the usage and reservations of the agents of some trees. An agent's limit includes everything below
// it. The lock of the queue guards it, because every change may let a waiting call continue.
type Budgets struct {
	queue    *Queue
	nodes    map[string]*node
	children map[string][]*node // by the UID of the parent, which may be unknown here
}

// node is one agent in its tree.
type node struct {
	uid, name, parent string
	// limit is the agent's own limit; until is the usage at which a chat waits for the next message of a person.
	limit, until budget.Amount
	// used is the usage of the agent and its finished children, reserved that of its calls in flight.
	used, reserved total
	// treeUsed and treeReserved include everything below the agent.
	treeUsed, treeReserved total
	// starting reports that nothing of the agent is recorded yet: its first call has reserved something.
	starting bool
}

// NewBudgets returns budgets without agents for calls of the queue.
func (q *Queue) NewBudgets() *Budgets {
	return &Budgets{queue: q, nodes: map[string]*node{}, children: map[string][]*node{}}
}

// Set updates the node of an agent from its state. At the same time it releases the reservations of calls whose usage
// is now part of the state, so that the amount is never counted twice or not at all.
func (b *Budgets) Set(record ledger.Agent, s agent.State, released ...budget.Amount) {
	b.update(func() {
		n, ok := b.nodes[record.UID]
		if !ok && s.Phase.Terminal() {
			return // its parent has its usage already
		}
		if !ok {
			n = &node{uid: record.UID, parent: record.Parent}
			b.insert(n)
		}
		n.name, n.starting = cmp.Or(s.Config.TaskName, record.Name), false
		n.limit, n.until = s.Budget.Limit, s.Budget.Until
		b.add(n, newTotal(clampAmount(s.Budget.Used)).minus(n.used), total{})
		for _, amount := range released {
			b.giveBack(n.uid, amount)
		}
	})
}

// KeepEnded counts an agent that has ended until its parent has its usage.
func (b *Budgets) KeepEnded(record ledger.Agent, s agent.State) {
	b.update(func() {
		if b.nodes[record.UID] == nil {
			n := &node{uid: record.UID, name: cmp.Or(s.Config.TaskName, record.Name), parent: record.Parent}
			b.insert(n)
			b.add(n, newTotal(clampAmount(s.Budget.Used)), total{})
		}
	})
}

// DropReported drops a child whose usage is now part of its parent's.
func (b *Budgets) DropReported(parent ledger.Agent, child string) {
	b.update(func() {
		i := slices.IndexFunc(b.children[parent.UID], func(n *node) bool { return n.name == child })
		if i >= 0 {
			b.remove(b.children[parent.UID][i])
		}
	})
}

// Drop drops an agent.
func (b *Budgets) Drop(uid string) {
	b.update(func() {
		if n := b.nodes[uid]; n != nil {
			b.remove(n)
		}
	})
}

// Hold reserves an amount for a call that is in flight already, whatever the limits are.
func (b *Budgets) Hold(uid string, amount budget.Amount) {
	b.update(func() { b.add(b.nodes[uid], total{}, newTotal(amount)) })
}

// Release releases a reservation.
func (b *Budgets) Release(uid string, reserved budget.Amount) {
	b.update(func() { b.giveBack(uid, reserved) })
}

// update applies a change and then checks the calls that wait for these budgets.
func (b *Budgets) update(do func()) {
	b.queue.mu.Lock()
	do()
	after := b.queue.dispatch(b)
	b.queue.mu.Unlock()
	for _, do := range after {
		do()
	}
}

// check decides whether an agent may reserve an amount: now, never, or later if only reservations of calls in flight
// prevent it.
func (b *Budgets) check(uid string, amount budget.Amount) (refused *Refusal, later bool) {
	for n := b.nodes[uid]; n != nil; n = b.nodes[n.parent] {
		if n.limit == (budget.Amount{}) && n.until == (budget.Amount{}) {
			continue
		}
		now := budget.Budget{Limit: n.limit, Until: n.until, Used: n.treeUsed.plus(n.treeReserved).amount()}
		if _, ok := now.Reserve(amount); ok {
			continue
		}
		settled := budget.Budget{Limit: n.limit, Until: n.until, Used: n.treeUsed.amount()}
		if _, ok := settled.Reserve(amount); ok {
			later = true
			continue
		}
		return n.refuse(settled, amount), false
	}
	return nil, later
}

func (n *node) refuse(settled budget.Budget, amount budget.Amount) *Refusal {
	used, limit := settled.Used, settled.Limit
	if !settled.Exhausted(amount) {
		return &Refusal{Failure: agent.FailureMessageBudget, Message: fmt.Sprintf(
			"the chat %s has used %d tokens, may use %d until a person sends the next message (limits.maxTokensPerMessage), "+
				"and the next call may need %d",
			n.name, used.Tokens, n.until.Tokens, amount.Tokens)}
	}
	refusal := &Refusal{Failure: agent.FailureBudget}
	switch problem := settled.PriceProblem(amount); {
	case problem != "":
		refusal.Message = fmt.Sprintf("the budget of %s: %s", n.name, problem)
	case limit.CostMicros > 0:
		refusal.Message = fmt.Sprintf("the budget of %s is used up: %d of %d tokens, %s of %s are used, and the next call may need %d and %s",
			n.name, used.Tokens, limit.Tokens, money.Format(used.CostMicros, amount.Currency), money.Format(limit.CostMicros, amount.Currency),
			amount.Tokens, money.Format(amount.CostMicros, amount.Currency))
	default:
		refusal.Message = fmt.Sprintf("the budget of %s is used up: %d of %d tokens are used, and the next call may need %d",
			n.name, used.Tokens, limit.Tokens, amount.Tokens)
	}
	return refusal
}

// findCostLimit returns the name of an agent whose cost limit a call counts against, if there is one.
func (b *Budgets) findCostLimit(uid string) string {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	for n := b.nodes[uid]; n != nil; n = b.nodes[n.parent] {
		if n.limit.CostMicros > 0 {
			return n.name
		}
	}
	return ""
}

// GrantTasks reserves up to requested tasks for an agent within the limits of its ancestors, and returns how many.
// Set releases them when they are part of the state.
func (b *Budgets) GrantTasks(uid string, requested int64) int64 {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	granted := requested
	for n := b.nodes[uid]; n != nil; n = b.nodes[n.parent] {
		taken := n.treeUsed.tasks + n.treeReserved.tasks
		for _, limit := range []int64{n.limit.Tasks, n.until.Tasks} {
			if limit > 0 {
				granted = min(granted, max(0, limit-taken))
			}
		}
	}
	b.add(b.nodes[uid], total{}, total{tasks: granted})
	return granted
}

// ReserveWrites reserves calls that may write, for an agent that may be about to start, unless the number of its tree
// is no longer the one with which the calls were judged. Set releases them when they are part of the state.
func (b *Budgets) ReserveWrites(record ledger.Agent, judgedWith, writes int64) bool {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	if b.rootUsage(record.UID, record.Parent, record.Root).Writes != judgedWith {
		return false
	}
	n := b.nodes[record.UID]
	if n == nil {
		n = &node{uid: record.UID, parent: record.Parent, starting: true}
		b.insert(n)
	}
	b.add(n, total{}, total{writes: writes})
	return true
}

// TreeUsage returns the usage and the reservations of an agent and everything below it.
func (b *Budgets) TreeUsage(uid string) (used, reserved budget.Amount) {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	if n := b.nodes[uid]; n != nil {
		return n.treeUsed.amount(), n.treeReserved.amount()
	}
	return budget.Amount{}, budget.Amount{}
}

// RootUsage returns the usage and the reservations of the whole tree of an agent, which may be about to start.
func (b *Budgets) RootUsage(uid, parent, root string) budget.Amount {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	return b.rootUsage(uid, parent, root)
}

func (b *Budgets) rootUsage(uid, parent, root string) budget.Amount {
	n := cmp.Or(b.nodes[uid], b.nodes[parent], b.nodes[root])
	for n != nil && b.nodes[n.parent] != nil {
		n = b.nodes[n.parent]
	}
	if n == nil {
		return budget.Amount{}
	}
	return n.treeUsed.plus(n.treeReserved).amount()
}

// insert adds a node. Its children may already be known.
func (b *Budgets) insert(n *node) {
	b.nodes[n.uid] = n
	b.children[n.parent] = append(b.children[n.parent], n)
	var used, reserved total
	for _, child := range b.children[n.uid] {
		used, reserved = used.plus(child.treeUsed), reserved.plus(child.treeReserved)
	}
	b.addToSums(n, used, reserved)
}

func (b *Budgets) remove(n *node) {
	b.addToSums(n, total{}.minus(n.treeUsed), total{}.minus(n.treeReserved))
	delete(b.nodes, n.uid)
	rest := slices.DeleteFunc(b.children[n.parent], func(other *node) bool { return other == n })
	if b.children[n.parent] = rest; len(rest) == 0 {
		delete(b.children, n.parent)
	}
}

// add changes the usage and reservation of a node. A node that was removed is ignored.
func (b *Budgets) add(n *node, used, reserved total) {
	if n == nil {
		return
	}
	n.used, n.reserved = n.used.plus(used), n.reserved.plus(reserved)
	b.addToSums(n, used, reserved)
}

// giveBack releases a reservation, at most what is reserved. An agent that was removed has none.
func (b *Budgets) giveBack(uid string, amount budget.Amount) {
	n := b.nodes[uid]
	if n == nil {
		return
	}
	back := newTotal(budget.Amount{
		Tokens:     min(amount.Tokens, n.reserved.tokens),
		CostMicros: min(amount.CostMicros, n.reserved.micros[amount.Currency]), Currency: amount.Currency,
		Tasks: min(amount.Tasks, n.reserved.tasks), Writes: min(amount.Writes, n.reserved.writes),
	})
	b.add(n, total{}, total{}.minus(back))
	if n.starting { // it has not started
		b.remove(n)
	}
}

// addToSums changes the sums of a node and all its ancestors.
func (b *Budgets) addToSums(n *node, used, reserved total) {
	for ; n != nil; n = b.nodes[n.parent] {
		n.treeUsed, n.treeReserved = n.treeUsed.plus(used), n.treeReserved.plus(reserved)
	}
}

// maxAmount bounds the amounts of one agent, so that the sums of very many agents cannot overflow.
const maxAmount = 1 << 48

// clampAmount clamps an amount: one that saturated in an agent must not overflow its ancestors.
func clampAmount(a budget.Amount) budget.Amount {
	a.Tokens, a.CostMicros, a.Tasks = min(a.Tokens, maxAmount), min(a.CostMicros, maxAmount), min(a.Tasks, maxAmount)
	a.Writes = min(a.Writes, maxAmount)
	return a
}

// Reset drops all trees.
func (b *Budgets) Reset() {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	b.nodes, b.children = map[string]*node{}, map[string][]*node{}
}
