// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

func rebuild(h ledger.History) (agent.State, int64, error) {
	r := loadedAgent{record: h.Agent}
	if h.Snapshot != nil {
		var err error
		if r.state, err = decodeSnapshot(h.Snapshot); err != nil {
			return r.state, 0, err
		}
		r.snapshot = h.Snapshot.Seq
	}
	r.replay(h.Events)
	if r.fault != nil {
		return r.state, r.seq, fmt.Errorf("event %d (%s): %s", r.fault.Event, r.fault.Type, r.fault.Reason)
	}
	return r.state, r.seq, nil
}
