// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// ledgerSlowThreshold is how long an append may take before the agent counts as blocked.
const ledgerSlowThreshold = 10 * time.Second

// errLedgerSlow is the reason why an agent is blocked while an append takes too long.
var errLedgerSlow = &ledger.Error{Op: "append", Reason: ledger.ReasonUnavailable, Err: errors.New("no answer for " + ledgerSlowThreshold.String())}

// Blocked returns why the ledger keeps an agent from continuing, or nil.
func (e *Engine) Blocked(uid string) error {
	a := e.actors.find(uid)
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.blocked
}

// setBlocked stores whether the ledger accepts what an agent has to record, and reports changes.
func (a *actor) setBlocked(batch []delivery, err error) {
	a.mu.Lock()
	before := a.blocked
	a.blocked = err
	a.mu.Unlock()
	if ledgerReason(before) == ledgerReason(err) {
		return
	}
	if record, ok := a.findRecord(batch); ok {
		a.engine.options.BlockedChanged(record)
	}
}

// watchdog marks an agent as blocked while an append takes too long.
type watchdog struct {
	mu    sync.Mutex
	over  bool
	timer *time.Timer
}

func (a *actor) watchAppend(batch []delivery) *watchdog {
	w := &watchdog{}
	w.timer = time.AfterFunc(ledgerSlowThreshold, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.over {
			a.setBlocked(batch, errLedgerSlow)
		}
	})
	return w
}

// stop ends the watch. It does not reset the agent's blocked state.
func (w *watchdog) stop() {
	w.timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
}

// ledgerReason returns the reason of a ledger error, or an empty string.
func ledgerReason(err error) ledger.Reason {
	var failure *ledger.Error
	switch {
	case errors.As(err, &failure):
		return failure.Reason
	case err != nil:
		return ledger.ReasonFailed
	}
	return ""
}

// findRecord returns the record of the agent, which may be about to start.
func (a *actor) findRecord(batch []delivery) (ledger.Agent, bool) {
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
