// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model/schedule"
	"github.com/nestor-dev/nestor/internal/quota"
)

const (
	concurrent = 4
	treeLimit  = 3000
	hourLimit  = 600
)

// action is one drawn step of a play.
type action struct {
	kind        string
	tree, agent int
	call        int // which of the calls that the action may concern
	tokens      int64
}

// TestQueueHolds plays random calls of two trees in two namespaces against all limits together. After every action no
// limit is exceeded, no call waits that could run, and the budgets hold exactly the reservations of the calls that
// have one. In the end, when all limits are lifted, every call has started once, was refused once or was cancelled
// once, and nothing is reserved.
func TestQueueHolds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		actions := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) action {
			return action{
				kind: rapid.SampledFrom([]string{"submit", "submit", "submit", "finish", "finish", "cancel", "space", "quota", "hour"}).Draw(rt, "kind"),
				tree: rapid.IntRange(0, 1).Draw(rt, "tree"), agent: rapid.IntRange(0, 2).Draw(rt, "agent"), call: rapid.IntRange(0, 9).Draw(rt, "call"),
				tokens: rapid.Int64Range(1, 500).Draw(rt, "tokens"),
			}
		}), 40, 80).Draw(rt, "actions")
		problem := ""
		synctest.Test(t, func(t *testing.T) { problem = newPlay(t).run(actions) })
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}

// play is a world with the calls that were submitted.
type play struct {
	*world
	budgets *Budgets
	usage   map[string]int64
	calls   []*playedCall
}

type playedCall struct {
	*Call
	grant                       *schedule.Grant
	started, refused, cancelled int
	ended                       bool
}

func (c *playedCall) running() bool { return c.grant != nil && !c.ended }

func newPlay(t *testing.T) *play {
	p := &play{world: newWorld(t), usage: map[string]int64{}}
	p.scheduler.SetProvider(schedule.Provider{Name: "p", Concurrent: concurrent})
	p.queue.space.quota = worldQuota
	p.budgets = p.queue.NewBudgets()
	for tree := range 2 {
		for agent := range 3 {
			p.setUsage(tree, agent)
		}
	}
	return p
}

func uid(tree, agent int) string { return fmt.Sprintf("%d-%d", tree, agent) }

// setUsage counts the usage of an agent. Agent 0 is the root of its tree and has a limit.
func (p *play) setUsage(tree, index int, released ...budget.Amount) {
	record := ledger.Agent{UID: uid(tree, index), Name: uid(tree, index)}
	s := stateWithUsage(p.usage[record.UID])
	if index == 0 {
		s.Budget.Limit.Tokens = treeLimit
	} else {
		record.Parent = uid(tree, 0)
	}
	p.budgets.Set(record, s, released...)
}

func (p *play) run(actions []action) string {
	for i, a := range actions {
		p.act(a)
		p.pass(2 * quotaPollInterval) // other processes and the ledger's sizes are polled
		if problem := p.problem(); problem != "" {
			return fmt.Sprintf("after action %d (%+v): %s", i, a, problem)
		}
	}
	for len(p.waiting()) > 0 || slices.ContainsFunc(p.calls, (*playedCall).running) {
		for tree := range 2 {
			p.set(tree, nil, 0)
		}
		for _, c := range slices.Clone(p.calls) {
			p.finish(c, 0)
		}
		p.pass(2 * quotaPollInterval)
	}
	return p.remains()
}

// pass lets time go by, and waits until all calls have reacted.
func (p *play) pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // fake time of synctest
	synctest.Wait()
}

func (p *play) act(a action) {
	namespace := fmt.Sprint("ns", a.tree)
	switch a.kind {
	case "submit":
		p.submit(a)
	case "finish":
		running := slices.DeleteFunc(slices.Clone(p.calls), func(c *playedCall) bool { return !c.running() })
		if len(running) > 0 {
			p.finish(running[a.call%len(running)], a.tokens)
		}
	case "cancel":
		if len(p.calls) > 0 {
			c := p.calls[a.call%len(p.calls)]
			if c.Cancel() {
				c.cancelled++
				p.end(c.Agent.Namespace, c.Key, 0) // the row of its result
			}
		}
	case "space":
		p.set(a.tree, p.quotas[namespace], a.tokens*4)
	case "quota":
		p.set(a.tree, []quota.Quota{{Name: "hourly", Period: quota.Hour, MaxTokens: hourLimit}}[:a.call%2], p.bytes[namespace])
	case "hour":
		p.pass(time.Hour)
	}
}

// set changes the quotas of a tree's namespace and its size in the ledger.
func (p *play) set(tree int, quotas []quota.Quota, bytes int64) {
	namespace := fmt.Sprint("ns", tree)
	p.mu.Lock()
	p.quotas[namespace], p.bytes[namespace] = quotas, bytes
	p.mu.Unlock()
	p.queue.QuotasChanged(namespace)
}

func (p *play) submit(a action) {
	c := &playedCall{}
	c.Call = &Call{
		Agent: ledger.Agent{UID: uid(a.tree, a.agent), Namespace: fmt.Sprint("ns", a.tree)}, Key: fmt.Sprint(len(p.calls)), Budgets: p.budgets,
		Reserve: budget.Amount{Tokens: a.tokens}, MaxCost: func() (int64, string) { return 0, "" },
		Ticket:  schedule.Ticket{Provider: "p", Namespace: fmt.Sprint("ns", a.tree), Chat: uid(a.tree, 0), Tokens: a.tokens},
		Started: func(grant *schedule.Grant) { c.grant, c.started = grant, c.started+1 },
		Refused: func(Refusal) { c.refused++ },
		Waits:   func(*agent.QuotaWait) {}, QueuedChanged: func() {},
	}
	p.calls = append(p.calls, c)
	p.queue.Submit(c.Call)
}

// finish ends a running call with a usage of at most its reservation, and releases its grant twice.
func (p *play) finish(c *playedCall, used int64) {
	if !c.running() {
		return
	}
	used = min(used, c.Reserve.Tokens)
	c.ended = true
	c.grant.Release(schedule.Result{Tokens: &used})
	c.grant.Release(schedule.Result{})
	p.end(c.Agent.Namespace, c.Key, used)
	p.usage[c.Agent.UID] += used
	var tree, index int
	_, _ = fmt.Sscanf(c.Agent.UID, "%d-%d", &tree, &index)
	p.setUsage(tree, index, c.Reserve)
	p.queue.CallsEnded(c.Agent.Namespace, []ledger.ModelResult{{Key: c.Key}})
}

// waiting returns the calls that have neither started nor left.
func (p *play) waiting() []*playedCall {
	return slices.DeleteFunc(slices.Clone(p.calls), func(c *playedCall) bool { return c.gate == left })
}

// problem returns a limit that is exceeded, or a call that waits and could run.
func (p *play) problem() string {
	running, reserved := 0, map[string]int64{}
	for _, c := range p.calls {
		if c.started+c.refused+c.cancelled > 1 {
			return fmt.Sprintf("call %s was answered more than once: %+v", c.Key, c)
		}
		if c.running() {
			running++
		}
		if c.running() || c.gate != left && c.gate > atBudget {
			reserved[c.Agent.UID] += c.Reserve.Tokens
		}
	}
	if running > concurrent {
		return fmt.Sprintf("%d calls run", running)
	}
	for id, n := range p.budgets.nodes {
		if n.reserved.tokens != reserved[id] {
			return fmt.Sprintf("%d tokens of agent %s are reserved, want %d", n.reserved.tokens, id, reserved[id])
		}
		if total := n.treeUsed.tokens + n.treeReserved.tokens; n.limit.Tokens > 0 && total > n.limit.Tokens {
			return fmt.Sprintf("the tree of %s uses %d tokens of %d", id, total, n.limit.Tokens)
		}
	}
	for _, c := range p.waiting() {
		if reason := p.couldPass(c, running); reason != "" {
			return fmt.Sprintf("call %s waits although %s", c.Key, reason)
		}
	}
	return ""
}

// couldPass returns why a call should not wait at its gate.
func (p *play) couldPass(c *playedCall, running int) string {
	namespace := c.Agent.Namespace
	switch c.gate {
	case atBudget:
		if _, later := p.budgets.check(c.Agent.UID, c.Reserve); !later {
			return "its budget allows it"
		}
	case atSpace:
		if p.bytes[namespace] < worldQuota {
			return "the ledger has space"
		}
	case atQuota:
		if p.fits(namespace, quota.Limits(p.quotas[namespace], time.Now()), ledger.QuotaCall{Tokens: c.Reserve.Tokens}) {
			return "the quota allows it"
		}
	case atProvider:
		if running < concurrent {
			return "the provider has a free place"
		}
	}
	return ""
}

// remains returns what is left after all calls have ended.
func (p *play) remains() string {
	for _, c := range p.calls {
		if c.started+c.refused+c.cancelled != 1 {
			return fmt.Sprintf("call %s: %+v", c.Key, c)
		}
	}
	for id, n := range p.budgets.nodes {
		if n.reserved.amount() != (budget.Amount{}) {
			return fmt.Sprintf("%+v of agent %s is still reserved", n.reserved, id)
		}
	}
	for namespace, open := range p.reserved {
		if len(open) > 0 {
			return fmt.Sprintf("calls %v of %s still have a reservation", open, namespace)
		}
	}
	if waiting := p.scheduler.Waiting("p"); waiting > 0 {
		return fmt.Sprintf("%d calls wait at the provider", waiting)
	}
	return ""
}
