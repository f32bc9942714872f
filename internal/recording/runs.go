// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
)

// Run is what was recorded of an agent, up to the first event that cannot be read. Readers share it and must not change it.
type Run struct {
	Events []agent.Event
	states []agent.State
}

// State returns the state after an event, and the empty state for 0.
func (r *Run) State(sequence int64) agent.State {
	if sequence == 0 {
		return agent.State{}
	}
	return r.states[sequence-1]
}

// Last returns the number of the last event.
func (r *Run) Last() int64 { return int64(len(r.Events)) }

const (
	// keptEvents bounds the events of the runs that are kept: with its state, an event takes about 3 KB.
	keptEvents = 10_000
	keptTime   = 30 * time.Second
)

// Runs reads whole runs. It keeps the newest ones for a short time: a fork starts in three steps that need its origin, the task, the
// sub-agent and the engine, and decoding a run of 1,000 turns takes longer than the rest of all of them.
type Runs struct {
	ledger Events

	mu     sync.Mutex
	kept   []keptRun // the one that was used last is the last
	expiry *time.Timer
}

type keptRun struct {
	uid string
	run *Run
}

// NewRuns returns a reader of a ledger.
func NewRuns(l Events) *Runs {
	r := &Runs{ledger: l}
	r.expiry = time.AfterFunc(keptTime, r.forget)
	return r
}

func (r *Runs) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = nil
}

// Read returns the run of an agent with all events up to one of them, if they can be read. It may have more.
func (r *Runs) Read(ctx context.Context, uid string, last int64) (*Run, error) {
	if run := r.find(uid, last); run != nil {
		return run, nil
	}
	run := &Run{}
	err := Read(ctx, r.ledger, uid, func(e agent.Event, s agent.State) {
		run.Events, run.states = append(run.Events, e), append(run.states, s)
	})
	if err != nil && !errors.Is(err, ErrUnreadable) {
		return nil, err
	}
	if len(run.Events) <= keptEvents {
		r.keep(uid, run)
	}
	return run, nil
}

func (r *Runs) find(uid string, last int64) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.kept, func(k keptRun) bool { return k.uid == uid && k.run.Last() >= last })
	if i < 0 {
		return nil
	}
	k := r.kept[i]
	r.kept = append(slices.Delete(r.kept, i, i+1), k)
	r.expiry.Reset(keptTime)
	return k.run
}

func (r *Runs) keep(uid string, run *Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(slices.DeleteFunc(r.kept, func(k keptRun) bool { return k.uid == uid }), keptRun{uid, run})
	total := 0
	for _, k := range r.kept {
		total += len(k.run.Events)
	}
	for ; total > keptEvents; r.kept = slices.Delete(r.kept, 0, 1) {
		total -= len(r.kept[0].run.Events)
	}
	r.expiry.Reset(keptTime)
}
