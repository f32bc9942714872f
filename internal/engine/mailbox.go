// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "time"

// mailbox holds what has come for an agent until the goroutine that works on the agent takes it, all of it together. The actor's lock
// guards it.
type mailbox struct {
	queue   []delivery
	working bool      // a goroutine works on the agent
	dropped bool      // nothing is accepted or taken any more
	touched time.Time // when something last came, or the agent was read
}

// put accepts a delivery, unless the mailbox is dropped. A take-over goes before everything else.
func (m *mailbox) put(d delivery, now time.Time) bool {
	if m.dropped {
		return false
	}
	if d.takeOver {
		m.queue = append([]delivery{d}, m.queue...)
	} else {
		m.queue = append(m.queue, d)
	}
	m.touched = now
	return true
}

// hasWork reports whether there is something to take.
func (m *mailbox) hasWork() bool { return len(m.queue) > 0 && !m.dropped }

// take empties the mailbox.
func (m *mailbox) take() []delivery {
	batch := m.queue
	m.queue = nil
	return batch
}

// putBack puts a batch that could not be recorded before what has come since. What goes back into a dropped mailbox is lost.
func (m *mailbox) putBack(batch []delivery) {
	if m.dropped {
		confirmDeliveries(batch, errEvicted)
		return
	}
	m.queue = append(batch, m.queue...)
}

// isIdle reports whether nothing has come since a time, and nothing is left to do.
func (m *mailbox) isIdle(since time.Time) bool {
	return !m.working && len(m.queue) == 0 && !m.touched.After(since)
}

// drop makes the mailbox refuse everything, and returns what was in it.
func (m *mailbox) drop() []delivery {
	m.dropped = true
	return m.take()
}
