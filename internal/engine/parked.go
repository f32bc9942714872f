// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine/slots"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/share"
)

// A sub-agent that could continue after waiting for a person or its children, but gets no slot, is parked: its events are
// recorded, but no effects are recorded as intents or started. With a slot it gets agent.Resumed, and all outstanding effects
// start with that event. A parked agent has no goroutine and may be evicted.

// park tries to get a slot for an agent that is active after the step, and reports whether there was none.
func (a *actor) park(r *stepResult) bool {
	if r.end || r.next.Config.Kind != agent.SubAgent || r.next.Stage() != agent.StageActive || a.engine.slots.Holds(a.uid) {
		return false
	}
	return !a.engine.AcquireSlot(r.record, func() { a.engine.resume(a.uid) })
}

// resume delivers agent.Resumed to a parked agent.
func (e *Engine) resume(uid string) {
	if err := e.enqueue(uid, delivery{fact: agent.Resumed{}, resume: true}); err != nil && !errors.Is(err, ErrClosed) {
		e.options.ReportError(fmt.Errorf("resume agent %s: %w", uid, err))
	}
}

// AcquireSlot gives a sub-agent a slot and reports whether one was free. If not, wake is called once when the agent has its slot;
// it must not block.
func (e *Engine) AcquireSlot(record ledger.Agent, wake func()) bool {
	return e.slots.Acquire(e, record.UID, e.options.SlotGroups(e.ctx, record), wake)
}

// ReleaseSlot releases the slot of a sub-agent that cannot start after all, or removes it from the queue.
func (s *shared) ReleaseSlot(uid string) { s.slots.Release(uid) }

// Parked reports whether a sub-agent with work to do waits for a slot.
func (s *shared) Parked(uid string) bool { return s.slots.Waits(uid) }

// needsSlot reports whether an effect needs a slot. Timers do too: the clock of a parked agent is stopped.
func needsSlot(e agent.Effect) bool {
	switch e.(type) {
	case agent.CallModel, agent.RunTool, agent.WakeAt:
		return true
	}
	return false
}

// SetSlotLimit sets the limit of a slot group and wakes the agents that get a slot.
func (s *shared) SetSlotLimit(g slots.Group) { s.slots.SetLimit(g.Key, g.Limit) }

// SlotShares returns the source of the shares of slots.
func (s *shared) SlotShares() share.Source { return s.slots }
