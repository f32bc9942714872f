// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

type loadedAgent struct {
	record ledger.Agent
	state  agent.State
	// seq is the newest event, and snapshot the event of the snapshot that the state is based on; 0 if it is based on events
	// alone.
	seq, snapshot int64
	nextSnapshot  snapshotCadence
	// fault is set if an event is damaged; the state is then the one before it.
	fault *agent.Quarantined
}

// readAgent loads an agent. If its snapshot is damaged, it uses all events instead.
func (e *Engine) readAgent(ctx context.Context, uid string, trustSnapshot bool) (loadedAgent, error) {
	history, err := e.options.Ledger.Load(ctx, uid)
	if err != nil {
		return loadedAgent{}, err
	}
	r := loadedAgent{record: history.Agent}
	if history.Snapshot != nil {
		var damaged error
		r.state, damaged = decodeSnapshot(history.Snapshot)
		r.snapshot, r.nextSnapshot.size = history.Snapshot.Seq, len(history.Snapshot.Data)
		if damaged != nil || !trustSnapshot {
			if history.Events, err = e.allEvents(ctx, uid); err != nil {
				return loadedAgent{}, err
			}
			r.state, r.snapshot, r.nextSnapshot = agent.State{}, 0, snapshotCadence{}
		}
	}
	r.nextSnapshot.add(history.Events)
	r.replay(history.Events)
	switch {
	case r.fault == nil:
		return r, nil
	case r.snapshot > 0:
		return e.readAgent(ctx, uid, false) // the snapshot may not match the events after it
	}
	r.fault.Usage, err = e.usageBelow(r.record)
	return r, err
}

func decodeSnapshot(s *ledger.Snapshot) (agent.State, error) {
	state, err := agent.DecodeState(s.Data)
	if err == nil && state.Phase == agent.PhaseNew && state.HistoryLoss == nil {
		err = fmt.Errorf("the snapshot at event %d is empty", s.Seq)
	}
	return state, err
}

// allEvents reads all events of an agent.
func (e *Engine) allEvents(ctx context.Context, uid string) ([]ledger.Event, error) {
	var all []ledger.Event
	for {
		after := int64(0)
		if len(all) > 0 {
			after = all[len(all)-1].Seq
		}
		page, err := e.options.Ledger.Events(ctx, uid, after, ledger.MaxLimit)
		if err != nil {
			return nil, fmt.Errorf("read the events of agent %s: %w", uid, err)
		}
		if len(page) == 0 {
			return all, nil
		}
		all = append(all, page...)
	}
}

// replay folds events into the state. Events before a quarantine need not be readable.
func (r *loadedAgent) replay(events []ledger.Event) {
	r.seq = r.snapshot
	barrier := 0
	for i := range events {
		if events[i].Type == agent.FactType(agent.Quarantined{}) {
			barrier = i
		}
	}
	for i, e := range events {
		if r.fault != nil && i == barrier && barrier > 0 {
			r.fault = nil
		}
		if r.fault == nil {
			r.apply(e)
		}
		r.seq = e.Seq
	}
	if r.fault == nil && r.seq < r.record.LastSeq {
		r.damaged(r.seq+1, "", "it is not in the ledger")
	}
	r.seq = max(r.seq, r.record.LastSeq)
}

func (r *loadedAgent) apply(e ledger.Event) {
	if e.Seq != r.seq+1 && e.Type != agent.FactType(agent.Quarantined{}) {
		r.damaged(r.seq+1, "", "it is not in the ledger")
		return
	}
	next, _, err := agent.DecodeAndApply(r.state, e.Data)
	if err != nil {
		r.damaged(e.Seq, e.Type, err.Error())
		return
	}
	r.state = next
}

func (r *loadedAgent) damaged(seq int64, kind, reason string) {
	if kind == "" {
		kind = "missing"
	}
	r.fault = newFault(r.record, r.seq, agent.Quarantined{Event: seq, Type: kind, Reason: reason})
}
