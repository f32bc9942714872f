// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"
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
	// quarantine says that the agent cannot go on, as its fact says.
	quarantine bool
	// takeOver asks for everything that is outstanding, not only what a fact adds; its own fact is found when the agent has been read.
	// fresh says that it was just read.
	takeOver, fresh bool
	// missed is what the agent has to hear after a take-over, if caughtUp says that it is known.
	missed   []agent.Fact
	caughtUp bool
	// resume asks for everything that is outstanding of an agent that was parked.
	resume bool
	// open are the keys of the calls that the ledger has no result of, for those who take over or resume.
	open map[string]bool
	// reserved is what a model call had reserved, to be given back when its usage is part of the state.
	reserved    agent.Amount
	modelResult *ledger.ModelResult
	toolResult  *ledger.ToolResult
	// images came with the fact.
	images []ledger.Image
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
	fence    ledger.Fence // of the batch that is being handled
	calls    int          // that are being made
	queued   *queued      // the model call that waits for its turn, if one does
	touched  time.Time    // when something last came, or somebody looked
	blocked  error        // why the ledger does not take what is in the mailbox

	// The working goroutine alone changes what follows, under this lock.
	stateMu  sync.Mutex
	loaded   bool
	absent   bool // the ledger had nothing of this agent when it was asked
	record   ledger.Agent
	state    agent.State
	seq      int64
	snapshot int64
	due      cadence
	recorded *recorded
	// fault is why the agent is to be quarantined, and distrust keeps it from being read from its snapshot.
	fault    *agent.Quarantined
	distrust bool
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
	a.engine.steps.do(a.work)
}

// work empties the mailbox. What has gathered there goes into the ledger together.
func (a *actor) work() {
	defer a.engine.busy.Done()
	for {
		a.mu.Lock()
		batch := a.queue
		if len(batch) == 0 || a.dropped || a.engine.held.Load() {
			a.working = false
			a.mu.Unlock()
			return
		}
		a.queue = nil
		a.fence, _ = a.engine.tenure.current() // while it is not dropped, the epoch is the one that it was read in
		a.mu.Unlock()
		slow := a.watch(batch)
		err := a.handle(batch)
		slow.stop()
		if err != nil {
			a.pause(batch, err)
			return
		}
		a.setBlocked(batch, nil)
	}
}

// pause puts back what could not be recorded, and tries again later: a ledger that is down stops progress and loses nothing.
func (a *actor) pause(batch []delivery, err error) {
	ended := a.engine.ctx.Err() != nil
	if !ended {
		a.engine.options.Trouble(fmt.Errorf("agent %s waits for the ledger: %w", a.uid, err))
		a.setBlocked(batch, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.putBack(batch)
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

// putBack puts a batch before what has come since. Nobody looks into the mailbox of an actor that was dropped. The lock is held.
func (a *actor) putBack(batch []delivery) {
	if a.dropped {
		confirm(batch, errForgotten)
		return
	}
	a.queue = append(batch, a.queue...)
}

// handle steps through a batch, records it and acts. An error means that nothing was recorded and that it is worth trying
// again.
func (a *actor) handle(batch []delivery) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = a.caught(batch, value)
		}
	}()
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
	if batch, err = a.isolate(batch); err != nil {
		return err
	}
	if err := a.findOpen(batch); err != nil {
		return err
	}
	if batch, err = a.catchUp(batch); err != nil {
		return err
	}
	if begins {
		batch = a.withoutParent(batch)
	}
	r := a.step(batch)
	committed := false
	defer func() {
		if !committed {
			a.engine.budgets.release(a.uid, r.granted)
		}
	}()
	// An agent that has ended before its object went may still wait for the last of its calls to be stopped: nobody hears of that
	// once the agent is forgotten.
	if r.abandonsCalls() {
		if err := a.closeCalls(r); err != nil {
			return err
		}
	}
	if r.empty() {
		a.absorbed(r)
		a.release(batch)
		confirm(batch, r.unheard())
		if r.end {
			a.engine.Forget(a.uid)
		}
		if r.takeOver && r.ended() { // nobody may have heard of that
			a.notifyOthers(r)
		}
		return nil
	}
	asked := time.Now()
	r.batch.Fence = a.fence
	err = a.engine.options.Ledger.Append(a.engine.ctx, r.batch)
	if errors.Is(err, ledger.ErrInvalid) && r.batch.Snapshot != nil {
		r.batch.Snapshot = nil // it is only a shortcut
		err = a.engine.options.Ledger.Append(a.engine.ctx, r.batch)
	}
	var conflict *ledger.ConflictError
	switch {
	case err == nil:
		a.engine.tenure.confirm(asked)
	case errors.Is(err, ledger.ErrFenced):
		a.engine.followed(a.fence)
		a.release(batch)
		confirm(batch, ErrFollowed)
		return nil
	case errors.As(err, &conflict):
		a.overtaken(batch)
		return nil
	case errors.Is(err, ledger.ErrNoIntent):
		a.overtaken(withoutResults(batch)) // the results have been recorded already
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
	if !a.engine.tenure.holds(a.fence) { // it is on record; whoever takes the agent over goes on with it
		confirm(batch, nil)
		return nil
	}
	committed = true
	a.commit(r)
	a.engine.quotas.ended(r.record.Namespace, r.batch.ModelResults)
	a.engine.ledgerQuota.appended(r.record, r.batch.Added())
	for _, call := range r.answered {
		a.engine.options.Called(call)
	}
	change := Change{Agent: r.record, Before: r.before, After: r.next, Effects: r.effects, Events: r.events, Calls: r.calls, Gone: r.end}
	a.engine.options.Recorded(change)
	confirm(batch, nil)
	if r.end {
		a.engine.Forget(a.uid)
		a.notifyOthers(r)
		if r.before.Children.Pending() > 0 {
			a.engine.endBelow(r.record)
		}
		return nil
	}
	a.act(r)
	if r.quarantine {
		a.engine.stopBelow(r.record)
	}
	a.checkParent(r)
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
	if r.takeOver || r.resume {
		fresh = agent.Outstanding(r.next)
	}
	for _, e := range fresh {
		if r.outstanding[e.Key()] && (!r.parked || !isWork(e)) && !a.route(r, e) {
			a.perform(r, e)
		}
	}
	a.notifyOthers(r)
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
