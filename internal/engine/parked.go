// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// A sub-agent that could continue after waiting for a person or its children, but gets no slot, is parked: its events are
// recorded, but no effects are recorded as intents or started. With a slot it gets agent.Resumed, and all outstanding effects
// start with that event. A parked agent has no goroutine and may be evicted.

// park tries to get a slot for an agent that is active after the step, and reports whether there was none.
func (a *actor) park(r *recording) bool {
	if r.end || r.next.Config.Kind != agent.SubAgent || r.next.Standing() != agent.StandingActive || a.engine.slots.holds(a.uid) {
		return false
	}
	return !a.engine.TakeSlot(r.record, func() { a.engine.resume(a.uid) })
}

// resume delivers agent.Resumed to a parked agent.
func (e *Engine) resume(uid string) {
	if err := e.post(uid, delivery{fact: agent.Resumed{}, resume: true}); err != nil && !errors.Is(err, ErrClosed) {
		e.options.Trouble(fmt.Errorf("resume agent %s: %w", uid, err))
	}
}

// TakeSlot gives a sub-agent a slot and reports whether one was free. If not, wake is called once when the agent has its slot; it
// must not block.
func (e *Engine) TakeSlot(record ledger.Agent, wake func()) bool {
	return e.slots.take(record.UID, e.options.Crews(e.ctx, record), wake)
}

// LeaveSlot releases the slot of a sub-agent that cannot start after all, or removes it from the queue.
func (e *Engine) LeaveSlot(uid string) { e.slots.forget(uid) }

// Parked reports whether a sub-agent with work to do waits for a slot.
func (e *Engine) Parked(uid string) bool { return e.slots.waits(uid) }

// isWork reports whether an effect needs a slot. Timers do too: the clock of a parked agent stands still.
func isWork(e agent.Effect) bool {
	switch e.(type) {
	case agent.CallModel, agent.RunTool, agent.WakeAt:
		return true
	}
	return false
}
