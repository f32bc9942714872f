// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/json"
	"time"
)

type Event struct {
	// Seq is the sequence number of the event within its agent, from 1. Append assigns it.
	Seq int64
	// Type is the type of the fact. Data contains its own version: the ledger does not interpret it.
	Type string
	At   time.Time
	Data json.RawMessage
}

// Snapshot is the state of an agent after the event Seq.
type Snapshot struct {
	Seq  int64
	Data json.RawMessage
}

// History contains what is needed to rebuild the state of an agent: start with the snapshot, if there is one, and apply the
// events.
type History struct {
	Agent    Agent
	Snapshot *Snapshot
	Events   []Event
}
