// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "github.com/nestor-dev/nestor/internal/ledger"

// snapshotCadence decides when the next snapshot of an agent is due: after a number of events, but not before half the size of
// the last snapshot was recorded. The cost of snapshots is then a constant share of what is recorded, whatever the size of the
// state.
type snapshotCadence struct {
	// size is the size of the last snapshot; events and bytes were recorded since.
	size   int
	events int64
	bytes  int
}

func (c *snapshotCadence) add(events []ledger.Event) {
	c.events += int64(len(events))
	for i := range events {
		c.bytes += len(events[i].Data)
	}
}

// smallStateBytes is the size up to which only the number of events counts.
const smallStateBytes = 16 << 10

func (c *snapshotCadence) due(every int64) bool {
	return c.events >= every && (c.size <= smallStateBytes || c.bytes >= c.size/2)
}
