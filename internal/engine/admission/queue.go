// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model/schedule"
)

// Options configure a Queue. Its functions must not block.
type Options struct {
	Ledger interface {
		ledger.Quotas
		ledger.Sizes
	}
	Scheduler *schedule.Scheduler
	// Quotas returns the quotas of namespaces; nil means none. QuotaUsageChanged, which may be nil, is called for a
	// namespace with quotas in which calls started, ended or wait.
	Quotas            Quotas
	QuotaUsageChanged func(namespace string)
	// NamespaceUID returns the UID of a namespace, or an empty string.
	NamespaceUID func(namespace string) string
	// LedgerQuota bounds the bytes in the ledger of a namespace's agents; 0 means no limit.
	LedgerQuota int64
	ReportError func(error)
	Now         func() time.Time
	// RetryDelay is how long to wait after a failure of the ledger.
	RetryDelay time.Duration
}

// Queue holds the model calls that wait. It is safe for concurrent use.
type Queue struct {
	options Options
	ctx     context.Context
	busy    sync.WaitGroup

	mu sync.Mutex
	// waiting are the calls at each gate but the last, in order of arrival. The scheduler has those that wait for a
	// provider.
	waiting [atProvider][]*Call
	space   space
	quotas  quotas
}

// gate is where a call waits. A call that a gate has let pass is at the next one, even before that has checked it.
type gate int

const (
	atBudget gate = iota
	atSpace
	atQuota
	atProvider
	left
)

// Call is a model call that asks for admission. One of Started and Refused is called once, unless the call is
// cancelled before. They may run on the goroutine of another call, so they must not block.
type Call struct {
	Agent ledger.Agent
	// Key is the key of the call in the ledger.
	Key string
	// Reserve is the most that the call may use of its tree's budgets.
	Reserve budget.Amount
	Budgets *Budgets
	// MaxCost returns the cost to reserve from quotas, and its currency, which is empty if the price is unknown.
	MaxCost func() (costMicros int64, currency string)
	Ticket  schedule.Ticket
	// Started is called when the call may start. The grant must be released.
	Started func(*schedule.Grant)
	Refused func(Refusal)
	// Waits is called with the reason why a quota delays the call, and with nil when no quota delays it any longer.
	// WaitRecorded reports that a reason was recorded before the call was submitted.
	Waits        func(*agent.QuotaWait)
	WaitRecorded bool
	// QueuedChanged is called when the call has waited for its provider for a while, and again when it no longer
	// waits; see Queued.
	QueuedChanged func()

	// The queue's lock guards the following fields.
	gate     gate
	provider providerWait
	// delay is the quota that delays the call, if any.
	delay quotaDelay
}

// Refusal describes why a call may not start.
type Refusal struct {
	Failure agent.ModelFailure
	Message string
}

// New returns a queue without calls. It checks quotas until ctx ends.
func New(ctx context.Context, options Options) *Queue {
	return &Queue{options: options, ctx: ctx, space: newSpace(options.LedgerQuota), quotas: newQuotas()}
}

// Wait waits until the queue has ended its checks after the end of its context.
func (q *Queue) Wait() { q.busy.Wait() }

// Submit queues a call, which must not be submitted again. Its budgets must be those of the queue. Started or Refused
// may be called before Submit returns.
func (q *Queue) Submit(c *Call) {
	c.Budgets.update(func() { q.waiting[atBudget] = append(q.waiting[atBudget], c) })
}

// Cancel removes a call that waits, with everything that it has reserved, and reports whether it did: a call that has
// started, was refused or was cancelled before is not affected.
func (c *Call) Cancel() bool { return c.leave(nil) }

// leave takes a call out of the queue before it may start. It reports false if the call had left already.
func (c *Call) leave(refusal *Refusal) bool {
	q := c.Budgets.queue
	waited := false
	var queued *schedule.QueuedCall
	c.Budgets.update(func() {
		if waited = c.gate != left; !waited {
			return
		}
		if c.gate < atProvider {
			q.waiting[c.gate] = slices.DeleteFunc(q.waiting[c.gate], func(other *Call) bool { return other == c })
		}
		if c.gate > atBudget {
			c.Budgets.giveBack(c.Agent.UID, c.Reserve)
		}
		c.gate, queued = left, c.provider.queued
	})
	if !waited {
		return false
	}
	if queued != nil {
		queued.Cancel() // a grant at the same moment is released by granted
	}
	c.hideQueued()
	if refusal != nil {
		c.Refused(*refusal)
	}
	return true
}

// at moves a call that has passed a gate to the next one. It reports false if the call was cancelled meanwhile.
func (c *Call) at(next gate) bool {
	c.Budgets.queue.mu.Lock()
	defer c.Budgets.queue.mu.Unlock()
	if c.gate == left {
		return false
	}
	c.gate = next
	return true
}

// dispatch checks the calls that wait for budgets after a change of these, and returns what to do without the lock.
func (q *Queue) dispatch(b *Budgets) []func() {
	var after []func()
	q.waiting[atBudget] = slices.DeleteFunc(q.waiting[atBudget], func(c *Call) bool {
		if c.Budgets != b {
			return false
		}
		refusal, later := b.check(c.Agent.UID, c.Reserve)
		switch {
		case later:
			return false
		case refusal != nil:
			c.gate = left
			after = append(after, func() { c.Refused(*refusal) })
		default:
			b.add(b.nodes[c.Agent.UID], total{}, newTotal(c.Reserve))
			c.gate = atSpace
			after = append(after, func() { q.enterSpace(c) })
		}
		return true
	})
	return after
}
