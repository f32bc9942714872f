// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "github.com/nestor-dev/nestor/internal/ledger"

// cadence decides when the next snapshot of an agent is due: after a number of events, but not before half the size of the last
// snapshot was recorded. The cost of snapshots is then a constant share of what is recorded, whatever the size of the state.
type cadence struct {
	// size is the size of the last snapshot; events and bytes were recorded since.
	size   int
	events int64
	bytes  int
}

func (c *cadence) add(events []ledger.Event) {
	c.events += int64(len(events))
	for i := range events {
		c.bytes += len(events[i].Data)
	}
}

// smallState is the size up to which only the number of events counts.
const smallState = 16 << 10

func (c *cadence) reached(every int64) bool {
	return c.events >= every && (c.size <= smallState || c.bytes >= c.size/2)
}
