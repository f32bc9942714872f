// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "github.com/nestor-dev/nestor/internal/ledger"

// cadence is when the next snapshot of an agent is due: after so many events, and not before half as much has been recorded as the last
// snapshot holds. What snapshots cost then is a share of what is recorded, however large the state is.
type cadence struct {
	// size is that of the last snapshot, events and bytes are what was recorded since.
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

// smallState is the size up to which a state is written after every so many events.
const smallState = 16 << 10

func (c *cadence) reached(every int64) bool {
	return c.events >= every && (c.size <= smallState || c.bytes >= c.size/2)
}
