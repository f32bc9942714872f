// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// delivery is something for an agent: a fact, and what the ledger is to record with it.
type delivery struct {
	fact agent.Fact
	// at is when the fact is true at the earliest: a timer may fire a moment before its time by another clock.
	at agent.Time
	// create is the record of an agent that may be new.
	create *ledger.Agent
	// takeOver asks for everything that is outstanding, not only what the fact adds.
	takeOver bool
	// ownEffect marks the answer of an effect that this engine performed.
	ownEffect bool
	// reserved is what a model call had reserved, to be given back when its usage is part of the state.
	reserved    agent.Amount
	modelResult *ledger.ModelResult
	toolResult  *ledger.ToolResult
}

// actor is one agent: its mailbox, its state and what it has in flight.
type actor struct {
	engine *Engine
	uid    string

	mu       sync.Mutex
	queue    []delivery
	working  bool
	dropped  bool // what comes from now on is for nobody
	quiet    bool // no new effects
	inFlight map[string]func()
	touched  time.Time // when something last came or went

	// The working goroutine alone changes what follows, under this lock.
	stateMu  sync.Mutex
	loaded   bool
	record   ledger.Agent
	state    agent.State
	seq      int64
	snapshot int64
}

// post puts something into the mailbox and sees to it that somebody looks. It reports false if the actor has been dropped.
func (a *actor) post(d delivery) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dropped {
		return false
	}
	a.queue = append(a.queue, d)
	a.touched = a.engine.options.Now()
	a.lookLocked()
	return true
}

func (a *actor) lookLocked() {
	if a.working || len(a.queue) == 0 || a.dropped {
		return
	}
	a.working = true
	a.engine.busy.Add(1)
	go a.work()
}

// work empties the mailbox. What has gathered there goes into the ledger together.
func (a *actor) work() {
	defer a.engine.busy.Done()
	for {
		a.mu.Lock()
		batch := a.queue
		a.queue = nil
		if len(batch) == 0 {
			a.working = false
			a.mu.Unlock()
			return
		}
		a.mu.Unlock()
		if err := a.handle(batch); err != nil {
			a.pause(batch, err)
			return
		}
	}
}

// pause puts back what could not be recorded, and tries again later: a ledger that is down stops progress and loses nothing.
func (a *actor) pause(batch []delivery, err error) {
	ended := a.engine.ctx.Err() != nil
	if !ended {
		a.engine.options.Trouble(fmt.Errorf("agent %s waits for the ledger: %w", a.uid, err))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue = append(batch, a.queue...)
	a.working = false
	if ended {
		return
	}
	time.AfterFunc(a.engine.options.RetryLedger, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.engine.ctx.Err() == nil {
			a.lookLocked()
		}
	})
}

// handle steps through a batch, records it and acts. An error means that nothing was recorded and that it is worth trying
// again.
func (a *actor) handle(batch []delivery) error {
	if err := a.load(a.engine.ctx); err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	r := a.step(batch)
	if r.empty() {
		if r.takeOver {
			a.act(r)
		}
		return nil
	}
	err := a.engine.options.Ledger.Append(a.engine.ctx, r.batch)
	var conflict *ledger.ConflictError
	switch {
	case err == nil:
	case errors.As(err, &conflict), errors.Is(err, ledger.ErrNoIntent), errors.Is(err, ledger.ErrKeyTaken):
		a.overtaken(batch)
		return nil
	case errors.Is(err, ledger.ErrInvalid):
		// Trying again would not help, and would wedge the agent.
		a.engine.options.Trouble(fmt.Errorf("agent %s: %w", a.uid, err))
		return nil
	default:
		return err
	}
	a.commit(r)
	a.act(r)
	a.engine.options.Changed(a.uid)
	return nil
}

// overtaken means that another engine has appended in the meantime. Its state is the truth now.
func (a *actor) overtaken(batch []delivery) {
	a.stopAll()
	a.stateMu.Lock()
	a.loaded = false
	a.stateMu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	var again []delivery
	for _, d := range batch {
		a.engine.budgets.release(a.uid, d.reserved)
		if !d.ownEffect && !d.takeOver {
			again = append(again, d)
		}
	}
	a.queue = append(again, a.queue...)
}

// load reads the agent from the ledger, unless it is in memory.
func (a *actor) load(ctx context.Context) error {
	a.stateMu.Lock()
	defer a.stateMu.Unlock()
	if a.loaded {
		return nil
	}
	history, err := a.engine.options.Ledger.Load(ctx, a.uid)
	if err != nil {
		a.state, a.seq, a.snapshot = agent.State{}, 0, 0
		return err
	}
	state, seq, err := rebuild(history)
	if err != nil {
		return fmt.Errorf("rebuild agent %s: %w", a.uid, err)
	}
	a.loaded, a.record, a.state, a.seq, a.snapshot = true, history.Agent, state, seq, 0
	if history.Snapshot != nil {
		a.snapshot = history.Snapshot.Seq
	}
	a.engine.budgets.set(a.record, a.state)
	return nil
}

func (a *actor) view(ctx context.Context) (agent.State, error) {
	if err := a.load(ctx); err != nil {
		return agent.State{}, err
	}
	a.stateMu.Lock()
	defer a.stateMu.Unlock()
	return a.state, nil
}

// commit makes what has been recorded the state.
func (a *actor) commit(r *recording) {
	a.stateMu.Lock()
	defer a.stateMu.Unlock()
	if r.batch.Create != nil {
		a.record = *r.batch.Create
	}
	a.loaded = true
	a.state = r.next
	a.seq += int64(len(r.batch.Events))
	if r.batch.Snapshot != nil {
		a.snapshot = a.seq
	}
	released := make([]agent.Amount, len(r.deliveries))
	for i, d := range r.deliveries {
		released[i] = d.reserved
	}
	a.engine.budgets.set(a.record, a.state, released...)
	for _, d := range r.deliveries {
		if f, ok := d.fact.(agent.ChildFinished); ok {
			a.engine.budgets.settled(a.record, f.Child)
		}
	}
}

// act stops what is no longer outstanding and performs what has become so.
func (a *actor) act(r *recording) {
	outstanding := agent.Outstanding(r.next)
	keys := make(map[string]bool, len(outstanding))
	for _, e := range outstanding {
		keys[e.Key()] = true
	}
	a.mu.Lock()
	var stops []func()
	for key, stop := range a.inFlight {
		if !keys[key] {
			stops = append(stops, stop)
			delete(a.inFlight, key)
		}
	}
	a.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	fresh := r.effects
	if r.takeOver {
		fresh = outstanding
	}
	for _, e := range fresh {
		if keys[e.Key()] {
			a.perform(r, e)
		}
	}
}

// retire makes an actor that has been idle refuse what comes from now on, so that it can be dropped; it reports whether it was.
// The engine's lock is held: whoever wants to deliver to this agent gets another actor.
func (a *actor) retire(before time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.working || len(a.queue) > 0 || len(a.inFlight) > 0 || a.touched.After(before) {
		return false
	}
	a.dropped = true
	return true
}

// quiesce lets what is in flight finish and begins nothing new.
func (a *actor) quiesce() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.quiet = true
}

// drop forgets everything.
func (a *actor) drop() {
	a.mu.Lock()
	a.dropped = true
	a.queue = nil
	a.mu.Unlock()
	a.stopAll()
}

func (a *actor) stopAll() {
	a.mu.Lock()
	stops := a.inFlight
	a.inFlight = map[string]func(){}
	a.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}
