// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/json"
	"time"
)

// Event is one fact in the history of an agent.
type Event struct {
	// Seq is the place of the event in its agent's history, from 1. Append numbers the events itself.
	Seq int64
	// Type names what happened. Data carries its own version: the ledger does not look inside.
	Type string
	At   time.Time
	Data json.RawMessage
}

// Snapshot is the state of an agent after the event Seq.
type Snapshot struct {
	Seq  int64
	Data json.RawMessage
}

// History is what rebuilds the state of an agent: start from the snapshot, if there is one, and apply the events.
type History struct {
	Agent    Agent
	Snapshot *Snapshot
	Events   []Event
}
