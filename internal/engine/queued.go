// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// queuedThreshold is how long a call waits at a provider before it is shown to people.
const queuedThreshold = time.Second

// Queue is the provider that a model call waits for.
type Queue struct {
	Provider string
	Since    time.Time
}

// queued is a model call that waits for its turn at a provider.
type queued struct {
	Queue

	timer *time.Timer
	over  bool // it had its turn, or was cancelled
	shown bool
}

// markQueued marks a call that did not get its turn at once. If it waits for long, Options.QueuedChanged is called.
func (a *actor) markQueued(q *queued, record ledger.Agent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q.over {
		return
	}
	a.queued = q
	q.timer = time.AfterFunc(queuedThreshold, func() {
		a.mu.Lock()
		q.shown = !q.over
		a.mu.Unlock()
		if q.shown {
			a.engine.options.QueuedChanged(record)
		}
	})
}

// unmarkQueued marks that a call had its turn or was cancelled.
func (a *actor) unmarkQueued(q *queued, record ledger.Agent) {
	a.mu.Lock()
	q.over = true
	if q.timer != nil {
		q.timer.Stop()
	}
	if a.queued == q {
		a.queued = nil
	}
	shown := q.shown // the timer's function may be waiting for the lock
	a.mu.Unlock()
	if shown {
		a.engine.options.QueuedChanged(record)
	}
}

// Queued returns where the model call of an agent waits, if it has waited for long.
func (e *Engine) Queued(uid string) (Queue, bool) {
	a := e.actors.find(uid)
	if a == nil {
		return Queue{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.queued == nil || !a.queued.shown {
		return Queue{}, false
	}
	return a.queued.Queue, true
}
