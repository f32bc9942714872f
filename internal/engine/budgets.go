// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// budgets holds the usage and reservations of the agents of all trees. An agent's limit includes everything below it.
type budgets struct {
	mu       sync.Mutex
	nodes    map[string]*node
	children map[string][]*node // by the UID of the parent, which may be unknown here
	pending  []*pendingReservation
}

// node is one agent in its tree.
type node struct {
	uid, name, parent string
	// limit is the agent's own limit; until is the usage at which a chat waits for the next message of a person.
	limit, until agent.Amount
	// used is the usage of the agent and its finished children, reserved that of its calls in flight.
	used, reserved agent.Amount
	// treeUsed and treeReserved include everything below the agent.
	treeUsed, treeReserved agent.Amount
}

// pendingReservation is a reservation that waits until calls of other agents are settled.
type pendingReservation struct {
	uid    string
	amount agent.Amount
	done   func(refusal refusal)
}

// refusal describes why a reservation is refused; the zero value grants it.
type refusal struct {
	reason string
	// untilNextMessage reports that only the limit until the next message of a person is exceeded.
	untilNextMessage bool
}

func newBudgets() *budgets {
	return &budgets{nodes: map[string]*node{}, children: map[string][]*node{}}
}

// set updates the node of an agent from its state. At the same time it releases the reservations of calls whose usage is now part
// of the state, so that the amount is never counted twice or not at all.
func (b *budgets) set(record ledger.Agent, s agent.State, released ...agent.Amount) {
	b.update(func() {
		n, ok := b.nodes[record.UID]
		if !ok && s.Phase.Terminal() {
			return // its parent has its usage already
		}
		if !ok {
			n = &node{uid: record.UID, name: cmp.Or(s.Config.TaskName, record.Name), parent: record.Parent}
			b.insert(n)
		}
		n.limit, n.until = s.Budget.Limit, s.Budget.Until
		b.add(n, minus(clampAmount(s.Budget.Used), n.used), agent.Amount{})
		for _, amount := range released {
			b.giveBack(n, amount)
		}
	})
}

// keepEnded counts an agent that has ended until its parent has its usage.
func (b *budgets) keepEnded(record ledger.Agent, s agent.State) {
	b.update(func() {
		if b.nodes[record.UID] == nil {
			n := &node{uid: record.UID, name: cmp.Or(s.Config.TaskName, record.Name), parent: record.Parent}
			b.insert(n)
			b.add(n, clampAmount(s.Budget.Used), agent.Amount{})
		}
	})
}

// dropReported drops a child whose usage is now part of its parent's.
func (b *budgets) dropReported(parent ledger.Agent, child string) {
	b.update(func() {
		i := slices.IndexFunc(b.children[parent.UID], func(n *node) bool { return n.name == child })
		if i >= 0 {
			b.remove(b.children[parent.UID][i])
		}
	})
}

func (b *budgets) drop(uid string) {
	b.update(func() {
		if n := b.nodes[uid]; n != nil {
			b.remove(n)
		}
	})
}

// reserve reserves an amount for an agent if the limits of the agent and of all its ancestors allow it, and calls done with no
// refusal. If only reservations of calls in flight prevent it, it waits for them; otherwise it calls done with the refusal. The
// result can be passed to cancel.
func (b *budgets) reserve(uid string, amount agent.Amount, done func(refusal)) *pendingReservation {
	p := &pendingReservation{uid: uid, amount: amount, done: done}
	b.update(func() { b.pending = append(b.pending, p) })
	return p
}

// hold reserves an amount for a call that is in flight already, whatever the limits are.
func (b *budgets) hold(uid string, amount agent.Amount) {
	b.update(func() { b.add(b.nodes[uid], agent.Amount{}, amount) })
}

// cancel cancels a waiting reservation and reports whether it was still waiting.
func (b *budgets) cancel(p *pendingReservation) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.pending, p)
	if i >= 0 {
		b.pending = slices.Delete(b.pending, i, i+1)
	}
	return i >= 0
}

// isPending reports whether a reservation is still waiting.
func (b *budgets) isPending(p *pendingReservation) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.pending, p)
}

// release releases a reservation.
func (b *budgets) release(uid string, reserved agent.Amount) {
	b.update(func() {
		if n := b.nodes[uid]; n != nil {
			b.giveBack(n, reserved)
		}
	})
}

// update applies a change and then answers the waiting reservations in order.
func (b *budgets) update(do func()) {
	b.mu.Lock()
	do()
	var answers []func()
	b.pending = slices.DeleteFunc(b.pending, func(p *pendingReservation) bool {
		refused, later := b.check(p)
		if later {
			return false
		}
		if refused == (refusal{}) {
			b.add(b.nodes[p.uid], agent.Amount{}, p.amount)
		}
		answers = append(answers, func() { p.done(refused) })
		return true
	})
	b.mu.Unlock()
	for _, answer := range answers {
		answer()
	}
}

// check decides about a reservation: granted, refused with a reason, or later.
func (b *budgets) check(p *pendingReservation) (refused refusal, later bool) {
	for n := b.nodes[p.uid]; n != nil; n = b.nodes[n.parent] {
		if n.limit == (agent.Amount{}) && n.until == (agent.Amount{}) {
			continue
		}
		now := agent.Budget{Limit: n.limit, Until: n.until, Used: plus(n.treeUsed, n.treeReserved)}
		if _, ok := now.Reserve(p.amount); ok {
			continue
		}
		settled := agent.Budget{Limit: n.limit, Until: n.until, Used: n.treeUsed}
		if _, ok := settled.Reserve(p.amount); ok {
			later = true
			continue
		}
		return n.refusalFor(p.amount, settled.Exhausted(p.amount)), false
	}
	return refusal{}, later
}

func (n *node) refusalFor(amount agent.Amount, exhausted bool) refusal {
	if !exhausted {
		return refusal{untilNextMessage: true, reason: fmt.Sprintf("the chat %s has used %d tokens, may use %d until a person sends the next message (limits.maxTokensPerMessage), and the next call may need %d",
			n.name, n.treeUsed.Tokens, n.until.Tokens, amount.Tokens)}
	}
	return refusal{reason: fmt.Sprintf("the budget of %s is used up: %d of %d tokens, %d of %d millionths of the currency are used, and the next call may need %d and %d",
		n.name, n.treeUsed.Tokens, n.limit.Tokens, n.treeUsed.CostMicros, n.limit.CostMicros, amount.Tokens, amount.CostMicros)}
}

// grantTasks reserves up to requested tasks for an agent within the limits of its ancestors, and returns how many. set releases
// them when they are part of the state.
func (b *budgets) grantTasks(uid string, requested int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	granted := requested
	for n := b.nodes[uid]; n != nil; n = b.nodes[n.parent] {
		taken := n.treeUsed.Tasks + n.treeReserved.Tasks
		for _, limit := range []int64{n.limit.Tasks, n.until.Tasks} {
			if limit > 0 {
				granted = min(granted, max(0, limit-taken))
			}
		}
	}
	b.add(b.nodes[uid], agent.Amount{}, agent.Amount{Tasks: granted})
	return granted
}

// treeUsage returns the usage of an agent and everything below it.
func (b *budgets) treeUsage(uid string) agent.Amount {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := b.nodes[uid]; n != nil {
		return n.treeUsed
	}
	return agent.Amount{}
}

// insert adds a node. Its children may already be known.
func (b *budgets) insert(n *node) {
	b.nodes[n.uid] = n
	b.children[n.parent] = append(b.children[n.parent], n)
	var used, reserved agent.Amount
	for _, child := range b.children[n.uid] {
		used, reserved = plus(used, child.treeUsed), plus(reserved, child.treeReserved)
	}
	b.addToSums(n, used, reserved)
}

func (b *budgets) remove(n *node) {
	b.addToSums(n, minus(agent.Amount{}, n.treeUsed), minus(agent.Amount{}, n.treeReserved))
	delete(b.nodes, n.uid)
	rest := slices.DeleteFunc(b.children[n.parent], func(other *node) bool { return other == n })
	if b.children[n.parent] = rest; len(rest) == 0 {
		delete(b.children, n.parent)
	}
}

// add changes the usage and reservation of a node. A node that was removed is ignored.
func (b *budgets) add(n *node, used, reserved agent.Amount) {
	if n == nil {
		return
	}
	n.used, n.reserved = plus(n.used, used), plus(n.reserved, reserved)
	b.addToSums(n, used, reserved)
}

// giveBack releases a reservation, at most what is reserved.
func (b *budgets) giveBack(n *node, amount agent.Amount) {
	back := agent.Amount{
		Tokens: min(amount.Tokens, n.reserved.Tokens), CostMicros: min(amount.CostMicros, n.reserved.CostMicros), Tasks: min(amount.Tasks, n.reserved.Tasks),
	}
	b.add(n, agent.Amount{}, minus(agent.Amount{}, back))
}

// addToSums changes the sums of a node and all its ancestors.
func (b *budgets) addToSums(n *node, used, reserved agent.Amount) {
	for ; n != nil; n = b.nodes[n.parent] {
		n.treeUsed, n.treeReserved = plus(n.treeUsed, used), plus(n.treeReserved, reserved)
	}
}

// maxAmount bounds the amounts of one agent, so that the sums of very many agents cannot overflow.
const maxAmount = 1 << 48

// clampAmount clamps an amount: one that saturated in an agent must not overflow its ancestors.
func clampAmount(a agent.Amount) agent.Amount {
	return agent.Amount{Tokens: min(a.Tokens, maxAmount), CostMicros: min(a.CostMicros, maxAmount), Tasks: min(a.Tasks, maxAmount)}
}

func plus(a, b agent.Amount) agent.Amount {
	return agent.Amount{Tokens: a.Tokens + b.Tokens, CostMicros: a.CostMicros + b.CostMicros, Tasks: a.Tasks + b.Tasks}
}

func minus(a, b agent.Amount) agent.Amount {
	return agent.Amount{Tokens: a.Tokens - b.Tokens, CostMicros: a.CostMicros - b.CostMicros, Tasks: a.Tasks - b.Tasks}
}

// reset drops all trees.
func (b *budgets) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.nodes, b.children = map[string]*node{}, map[string][]*node{}
}
