// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"time"
)

// mailbox holds the deliveries of an agent until a goroutine handles them, all of them together. The actor's lock
// guards it.
type mailbox struct {
	queue   []delivery
	working bool      // a goroutine works on the agent
	dropped bool      // accepts no deliveries and has no work
	lastUse time.Time // time of the last delivery or read
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
	m.lastUse = now
	return true
}

// hasWork reports whether there are deliveries to handle.
func (m *mailbox) hasWork() bool { return len(m.queue) > 0 && !m.dropped }

// hasResult reports whether the result of a call waits to be handled.
func (m *mailbox) hasResult(key string) bool {
	return slices.ContainsFunc(m.queue, func(d delivery) bool {
		return d.modelResult != nil && d.modelResult.Key == key || d.toolResult != nil && d.toolResult.Key == key
	})
}

func (m *mailbox) take() []delivery {
	batch := m.queue
	m.queue = nil
	return batch
}

// putBack puts a batch that could not be recorded back at the front of the queue. If the mailbox was dropped, the batch
// is lost.
func (m *mailbox) putBack(batch []delivery) {
	if m.dropped {
		confirmDeliveries(batch, errEvicted)
		return
	}
	m.queue = append(batch, m.queue...)
}

// isIdle reports whether the mailbox is empty, no goroutine works on it, and its last use was at or before a time.
func (m *mailbox) isIdle(since time.Time) bool {
	return !m.working && len(m.queue) == 0 && !m.lastUse.After(since)
}

// drop makes the mailbox refuse all deliveries, and returns those that were in it.
func (m *mailbox) drop() []delivery {
	m.dropped = true
	return m.take()
}
