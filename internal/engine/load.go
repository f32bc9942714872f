// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// load reads the agent from the ledger, unless it is in memory.
func (a *actor) load(ctx context.Context) error {
	a.stateMu.Lock()
	defer a.stateMu.Unlock()
	if a.loaded {
		return nil
	}
	read, err := a.engine.readAgent(ctx, a.uid, !a.ignoreSnapshot)
	if err != nil {
		a.state, a.seq, a.snapshot = agent.State{}, 0, 0
		a.notFound = errors.Is(err, ledger.ErrNotFound)
		return err
	}
	a.loaded, a.notFound, a.record, a.state, a.seq, a.snapshot = true, false, read.record, read.state, read.seq, read.snapshot
	a.nextSnapshot, a.lastRequest = read.nextSnapshot, nil
	if read.fault != nil && a.record.Live() && a.fault == nil {
		a.engine.options.ReportError(fmt.Errorf("agent %s is quarantined: event %d (%s): %s", a.uid, read.fault.Event, read.fault.Type, read.fault.Reason))
		a.fault = read.fault
		a.enqueue(delivery{}) // handling an empty delivery records it
	}
	if read.fault != nil && !a.record.Live() { // nothing is recorded for an agent that has ended
		a.state = quarantinedState(a.state, *read.fault, a.record.FinishedAt)
	}
	visible := a.visibleState()
	a.engine.budgets.Set(a.record, visible)
	a.releaseSlot()
	a.engine.directory.set(a.record, visible)
	return nil
}

func (a *actor) view(ctx context.Context) (ledger.Agent, agent.State, error) {
	a.touch()
	if err := a.load(ctx); err != nil {
		return ledger.Agent{}, agent.State{}, err
	}
	a.stateMu.Lock()
	defer a.stateMu.Unlock()
	return a.record, a.visibleState(), nil
}

// commit makes the recorded state current.
func (a *actor) commit(r *stepResult) {
	a.stateMu.Lock()
	defer a.stateMu.Unlock()
	if r.batch.Create != nil {
		a.record = *r.batch.Create
	}
	if u := r.batch.Update; u != nil {
		a.record.Role, a.record.RoleRevision, a.record.Provider, a.record.Model = u.Role, u.RoleRevision, u.Provider, u.Model
	}
	a.loaded, a.notFound = true, false
	a.state = r.next
	if r.quarantine {
		a.fault = nil
	}
	a.seq = r.batch.After + int64(len(r.batch.Events)) // absolute, because the agent may have been loaded in the meantime
	if r.batch.Snapshot != nil {
		a.snapshot, a.ignoreSnapshot = a.seq, false
	}
	a.nextSnapshot, a.lastRequest = r.nextSnapshot, r.lastRequest
	released := []budget.Amount{r.granted}
	for _, d := range r.deliveries {
		released = append(released, d.reserved)
	}
	a.engine.budgets.Set(a.record, a.state, released...)
	a.releaseSlot()
	a.engine.directory.set(a.record, a.state)
	for _, d := range r.deliveries {
		if f, ok := d.fact.(agent.ChildFinished); ok {
			a.engine.budgets.DropReported(a.record, f.Child)
		}
	}
}

// releaseSlot releases the slot of an agent that is not active.
func (a *actor) releaseSlot() {
	if a.fault != nil || a.state.Stage() != agent.StageActive {
		a.engine.slots.Release(a.uid)
	}
}

// unload makes the next access read the agent from the ledger.
func (a *actor) unload() {
	a.stateMu.Lock()
	defer a.stateMu.Unlock()
	a.loaded, a.notFound = false, false
}

func (a *actor) isNotFound() bool {
	a.stateMu.Lock()
	defer a.stateMu.Unlock()
	return a.notFound
}

// config returns the current configuration of the agent.
func (a *actor) config() agent.Config {
	a.stateMu.Lock()
	defer a.stateMu.Unlock()
	return a.state.Config
}
