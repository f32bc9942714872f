// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/model/schedule"
)

// queuedThreshold is how long a call waits for its provider before it is shown to people.
const queuedThreshold = time.Second

// Queued is the provider that a model call waits for.
type Queued struct {
	Provider string
	Since    time.Time
}

type providerWait struct {
	queued *schedule.QueuedCall
	since  time.Time
	timer  *time.Timer
	shown  bool
}

// enterProvider submits a call to the scheduler. If it waits there for long, Call.QueuedChanged is called.
func (q *Queue) enterProvider(c *Call) {
	if !c.at(atProvider) {
		return
	}
	if c.WaitRecorded || c.delay.reason != "" {
		c.Waits(nil)
	}
	since := q.options.Now()
	queued, err := q.options.Scheduler.Submit(c.Ticket, func(grant *schedule.Grant) { q.granted(c, grant) })
	if err != nil {
		c.leave(&Refusal{Failure: agent.FailureRetry, Message: err.Error()})
		return
	}
	q.mu.Lock()
	over := c.gate == left
	if !over {
		c.provider = providerWait{queued: queued, since: since, timer: time.AfterFunc(queuedThreshold, c.showQueued)}
	}
	q.mu.Unlock()
	if over {
		queued.Cancel() // it was cancelled meanwhile; a call that has started is not affected
	}
}

// granted starts a call that has its place at a provider, unless it was cancelled at the same moment.
func (q *Queue) granted(c *Call, grant *schedule.Grant) {
	if !c.at(left) {
		grant.Release(schedule.Result{})
		return
	}
	c.hideQueued()
	c.Started(grant)
}

func (c *Call) showQueued() {
	c.Budgets.queue.mu.Lock()
	c.provider.shown = c.gate == atProvider
	shown := c.provider.shown
	c.Budgets.queue.mu.Unlock()
	if shown {
		c.QueuedChanged()
	}
}

// hideQueued ends what showQueued shows, after the call has left.
func (c *Call) hideQueued() {
	c.Budgets.queue.mu.Lock()
	if c.provider.timer != nil {
		c.provider.timer.Stop()
	}
	shown := c.provider.shown
	c.Budgets.queue.mu.Unlock()
	if shown {
		c.QueuedChanged()
	}
}

// Queued returns where the call waits, if it has waited for long.
func (c *Call) Queued() (Queued, bool) {
	c.Budgets.queue.mu.Lock()
	defer c.Budgets.queue.mu.Unlock()
	return Queued{Provider: c.Ticket.Provider, Since: c.provider.since}, c.provider.shown && c.gate == atProvider
}
