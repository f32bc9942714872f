// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// A sub-agent that would go on after it waited for a person or for its children, and finds no slot, is parked: what has happened to it
// is recorded, but nothing that it asks for is intended or performed. When it gets its slot it hears agent.Resumed, and what is
// outstanding is intended with that event and performed. A parked agent has no goroutine and may leave memory.

// park takes a slot for an agent that is at work after the step, and says whether there is none.
func (a *actor) park(r *recording) bool {
	if r.end || r.next.Config.Kind != agent.SubAgent || r.next.Standing() != agent.StandingActive || a.engine.slots.holds(a.uid) {
		return false
	}
	return !a.engine.TakeSlot(r.record, func() { a.engine.resume(a.uid) })
}

// resume lets a parked agent go on.
func (e *Engine) resume(uid string) {
	if err := e.post(uid, delivery{fact: agent.Resumed{}, resume: true}); err != nil && !errors.Is(err, ErrClosed) {
		e.options.Trouble(fmt.Errorf("resume agent %s: %w", uid, err))
	}
}

// TakeSlot lets a sub-agent go to work if its crews have room for it. If it must wait, wake is called once when it has its slot; it
// must not block.
func (e *Engine) TakeSlot(record ledger.Agent, wake func()) bool {
	return e.slots.take(record.UID, e.options.Crews(e.ctx, record), wake)
}

// LeaveSlot gives back the slot of a sub-agent that cannot begin after all, or takes it out of the line.
func (e *Engine) LeaveSlot(uid string) { e.slots.forget(uid) }

// Parked says whether a sub-agent that has work to do waits for a slot.
func (e *Engine) Parked(uid string) bool { return e.slots.waits(uid) }

// isWork says whether a parked agent must not begin an effect. Its time stands still too.
func isWork(e agent.Effect) bool {
	switch e.(type) {
	case agent.CallModel, agent.RunTool, agent.WakeAt:
		return true
	}
	return false
}
