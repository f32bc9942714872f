// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// slowLedger is how long the ledger may take before an agent counts as blocked although nothing has failed yet.
const slowLedger = 10 * time.Second

// errSlow is why an agent is blocked that waits for an answer of the ledger.
var errSlow = &ledger.Error{Op: "append", Reason: ledger.ReasonUnavailable, Err: errors.New("it has not answered for " + slowLedger.String())}

// Blocked is why an agent cannot go on although it has something to do: the ledger fails. It is nil for all others.
func (e *Engine) Blocked(uid string) error {
	e.mu.Lock()
	a := e.actors[uid]
	e.mu.Unlock()
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.blocked
}

// setBlocked remembers whether the ledger takes what an agent has to record, and says so if that is new.
func (a *actor) setBlocked(batch []delivery, err error) {
	a.mu.Lock()
	before := a.blocked
	a.blocked = err
	a.mu.Unlock()
	if reasonOf(before) == reasonOf(err) {
		return
	}
	if record, ok := a.whose(batch); ok {
		a.engine.options.Blocked(record)
	}
}

// watchdog says that an agent is blocked while one attempt to record something takes too long.
type watchdog struct {
	mu    sync.Mutex
	over  bool
	timer *time.Timer
}

// watch begins to watch an attempt.
func (a *actor) watch(batch []delivery) *watchdog {
	w := &watchdog{}
	w.timer = time.AfterFunc(slowLedger, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.over {
			a.setBlocked(batch, errSlow)
		}
	})
	return w
}

// stop ends the watch: what is said of the agent afterwards stays.
func (w *watchdog) stop() {
	w.timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
}

// reasonOf is the reason of a failure of the ledger, or nothing.
func reasonOf(err error) ledger.Reason {
	var failure *ledger.Error
	switch {
	case errors.As(err, &failure):
		return failure.Reason
	case err != nil:
		return ledger.ReasonFailed
	}
	return ""
}

// whose is the record of the agent, which may be one that is to begin.
func (a *actor) whose(batch []delivery) (ledger.Agent, bool) {
	if record, ok := a.engine.directory.find(a.uid); ok {
		return record, true
	}
	for _, d := range batch {
		if d.create != nil {
			return *d.create, true
		}
	}
	return ledger.Agent{}, false
}
