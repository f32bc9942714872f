// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// end says that nothing will come after this.
	end bool
	// takeOver asks for everything that is outstanding, not only what a fact adds; its own fact is found when the agent has been read.
	// fresh says that it was just read.
	takeOver, fresh bool
	// reserved is what a model call had reserved, to be given back when its usage is part of the state.
	reserved    agent.Amount
	modelResult *ledger.ModelResult
	toolResult  *ledger.ToolResult
	// call is the call that the result is of, if one was made.
	call *Call
	// recorded, if set, is told once what became of the delivery; nil says that it is durable, or makes no difference.
	recorded func(error)
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
	touched  time.Time // when something last came, or somebody looked

	// The working goroutine alone changes what follows, under this lock.
	stateMu  sync.Mutex
	loaded   bool
	absent   bool // the ledger had nothing of this agent when it was asked
	record   ledger.Agent
	state    agent.State
	seq      int64
	snapshot int64
}

// post puts something into the mailbox and sees to it that somebody looks, at all of it together. It reports false if the actor has been
// dropped.
func (a *actor) post(together ...delivery) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range together {
		if !a.postLocked(d) {
			return false // and so were those before it
		}
	}
	return true
}

func (a *actor) postLocked(d delivery) bool {
	if a.dropped {
		return false
	}
	if d.takeOver { // before everything else
		a.queue = append([]delivery{d}, a.queue...)
	} else {
		a.queue = append(a.queue, d)
	}
	a.touched = a.engine.options.Now()
	a.lookLocked()
	return true
}

// touch keeps the agent in memory for a while.
func (a *actor) touch() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.touched = a.engine.options.Now()
}

func (a *actor) look() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lookLocked()
}

func (a *actor) lookLocked() {
	if a.working || len(a.queue) == 0 || a.dropped || a.engine.held.Load() {
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
		if len(batch) == 0 || a.dropped {
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
	a.engine.busy.Add(1) // a drain waits for what has not been recorded
	time.AfterFunc(a.engine.options.RetryLedger, func() {
		defer a.engine.busy.Done()
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
	if slices.ContainsFunc(batch, func(d delivery) bool { return d.takeOver && !d.fresh }) {
		a.unload() // whoever was at work may have gone on since this state was read
	}
	// An agent that was not there a moment ago and is to begin now need not be looked for again: if somebody else has begun it in
	// between, the append says so.
	begins := slices.ContainsFunc(batch, func(d delivery) bool { return d.create != nil })
	if !begins || !a.isAbsent() {
		if err := a.load(a.engine.ctx); err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return err
		}
	}
	if err := a.findUnknown(batch); err != nil {
		return err
	}
	r := a.step(batch)
	if r.empty() {
		a.release(batch)
		confirm(batch, r.unheard())
		if r.end {
			a.engine.Forget(a.uid)
		}
		return nil
	}
	if r.end {
		if err := a.closeCalls(r); err != nil {
			return err
		}
	}
	err := a.engine.options.Ledger.Append(a.engine.ctx, r.batch)
	if errors.Is(err, ledger.ErrInvalid) && r.batch.Snapshot != nil {
		r.batch.Snapshot = nil // it is only a shortcut
		err = a.engine.options.Ledger.Append(a.engine.ctx, r.batch)
	}
	var conflict *ledger.ConflictError
	switch {
	case err == nil:
	case errors.As(err, &conflict):
		a.overtaken(batch)
		return nil
	case errors.Is(err, ledger.ErrNoIntent):
		a.overtaken(withoutResults(batch)) // another engine has recorded the results already
		return nil
	case errors.Is(err, ledger.ErrInvalid):
		// Trying again would not help, and would wedge the agent.
		a.engine.options.Trouble(fmt.Errorf("agent %s: %w", a.uid, err))
		a.release(batch)
		confirm(batch, err)
		return nil
	default:
		return err
	}
	a.passed(r)
	a.commit(r)
	for _, call := range r.answered {
		a.engine.options.Called(call)
	}
	change := Change{Agent: r.record, Before: r.before, After: r.next, Effects: r.effects, Events: r.events, Calls: r.calls, Gone: r.end}
	a.engine.options.Recorded(change)
	confirm(batch, nil)
	if r.end {
		a.engine.Forget(a.uid)
		return nil
	}
	a.act(r)
	a.engine.reached(BeforeStatus)
	a.engine.options.Changed(change)
	return nil
}

// passed tells which points an append that succeeded has come to.
func (a *actor) passed(r *recording) {
	if len(r.batch.ModelCalls)+len(r.batch.ToolCalls) > 0 {
		a.engine.reached(AfterIntent)
	}
	if len(r.batch.ModelResults)+len(r.batch.ToolResults) > 0 {
		a.engine.reached(AfterAppend)
	}
}

// confirm tells those who wait what became of their deliveries.
func confirm(batch []delivery, err error) {
	for _, d := range batch {
		if d.recorded != nil {
			d.recorded(err)
		}
	}
}

// release gives back what was reserved for calls whose answers made no difference.
func (a *actor) release(batch []delivery) {
	for _, d := range batch {
		a.engine.budgets.release(a.uid, d.reserved)
	}
}

// overtaken means that another engine has appended in the meantime. Its state is the truth now: what was to be recorded goes
// through the core again, which knows what it has heard already. Whoever appended performs what came of it; if nothing
// happens for a while, that engine is gone and this one takes over.
func (a *actor) overtaken(batch []delivery) {
	a.unload()
	a.mu.Lock()
	a.queue = append(batch, a.queue...)
	a.mu.Unlock()
	time.AfterFunc(a.engine.options.TakeOverAfter, func() { a.takeOverIfStill(a.lastSeq()) })
}

// unload makes the next look at the agent read it from the ledger.
func (a *actor) unload() {
	a.stateMu.Lock()
	defer a.stateMu.Unlock()
	a.loaded, a.absent = false, false
}

func (a *actor) isAbsent() bool {
	a.stateMu.Lock()
	defer a.stateMu.Unlock()
	return a.absent
}

// withoutResults keeps only the facts.
func withoutResults(batch []delivery) []delivery {
	facts := slices.Clone(batch)
	for i := range facts {
		facts[i].modelResult, facts[i].toolResult, facts[i].call = nil, nil, nil
	}
	return facts
}

func (a *actor) lastSeq() int64 {
	a.stateMu.Lock()
	defer a.stateMu.Unlock()
	return a.seq
}

// takeOverIfStill performs what is outstanding, if the agent has not moved on since a moment ago.
func (a *actor) takeOverIfStill(since int64) {
	time.AfterFunc(a.engine.options.TakeOverAfter, func() {
		record, err := a.engine.options.Ledger.Agent(a.engine.ctx, a.uid)
		if err != nil || record.LastSeq != since || !record.Live() {
			return
		}
		_ = a.engine.post(a.uid, delivery{takeOver: true}) // not to this actor: it may have left memory. A closed engine takes nothing over.
	})
}

// spare leaves out the calls that this engine itself is running.
func (a *actor) spare(fact agent.Fact) agent.Fact {
	restarted, ok := fact.(agent.Restarted)
	if !ok {
		return fact
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	restarted.Unknown = slices.DeleteFunc(slices.Clone(restarted.Unknown), func(call string) bool {
		for key := range a.inFlight {
			if strings.HasPrefix(key, "tool/") && strings.HasSuffix(key, "/"+call) {
				return true
			}
		}
		return false
	})
	return restarted
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
		a.absent = errors.Is(err, ledger.ErrNotFound)
		return err
	}
	state, seq, err := rebuild(history)
	if err != nil {
		return fmt.Errorf("rebuild agent %s: %w", a.uid, err)
	}
	a.loaded, a.absent, a.record, a.state, a.seq, a.snapshot = true, false, history.Agent, state, seq, 0
	if history.Snapshot != nil {
		a.snapshot = history.Snapshot.Seq
	}
	a.engine.budgets.set(a.record, a.state)
	a.engine.slots.set(a.record, a.state)
	return nil
}

func (a *actor) view(ctx context.Context) (ledger.Agent, agent.State, error) {
	a.touch()
	if err := a.load(ctx); err != nil {
		return ledger.Agent{}, agent.State{}, err
	}
	a.stateMu.Lock()
	defer a.stateMu.Unlock()
	return a.record, a.state, nil
}

// commit makes what has been recorded the state.
func (a *actor) commit(r *recording) {
	a.stateMu.Lock()
	defer a.stateMu.Unlock()
	if r.batch.Create != nil {
		a.record = *r.batch.Create
	}
	a.loaded, a.absent = true, false
	a.state = r.next
	a.seq = r.batch.After + int64(len(r.batch.Events)) // absolute: somebody may have loaded the agent in the meantime
	if r.batch.Snapshot != nil {
		a.snapshot = a.seq
	}
	released := make([]agent.Amount, len(r.deliveries))
	for i, d := range r.deliveries {
		released[i] = d.reserved
	}
	a.engine.budgets.set(a.record, a.state, released...)
	a.engine.slots.set(a.record, a.state)
	for _, d := range r.deliveries {
		if f, ok := d.fact.(agent.ChildFinished); ok {
			a.engine.budgets.settled(a.record, f.Child)
		}
	}
}

// act stops what is no longer outstanding and performs what has become so.
func (a *actor) act(r *recording) {
	a.mu.Lock()
	var stops []func()
	for key, stop := range a.inFlight {
		if !r.outstanding[key] {
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
		fresh = agent.Outstanding(r.next)
	}
	for _, e := range fresh {
		if r.outstanding[e.Key()] {
			a.perform(r, e)
		}
	}
	a.tellParent(r)
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
	lost := a.queue
	a.queue = nil
	a.mu.Unlock()
	confirm(lost, errForgotten)
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
