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

// actor is one agent: its mailbox, its state and its effects in flight.
type actor struct {
	engine *Engine
	uid    string

	mu sync.Mutex
	mailbox
	quiet    bool // starts no new effects
	inFlight map[string]func()
	fence    ledger.Fence // of the current batch
	calls    int          // calls in flight
	queued   *queued      // the model call that waits at its provider, if any
	blocked  error        // why the ledger does not accept the mailbox

	// Only the working goroutine changes the following fields, with this lock held.
	stateMu  sync.Mutex
	loaded   bool
	absent   bool // the ledger had no record of this agent when it was read
	record   ledger.Agent
	state    agent.State
	seq      int64
	snapshot int64
	due      cadence
	recorded *recorded
	// fault is why the agent must be quarantined; distrust prevents loading from its snapshot.
	fault    *agent.Quarantined
	distrust bool
}

// post adds deliveries to the mailbox, to be handled together, and starts a goroutine if none is running. It reports false if the
// actor was dropped.
func (a *actor) post(together ...delivery) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range together {
		if !a.postLocked(d) {
			return false // deliveries before it were dropped too
		}
	}
	return true
}

func (a *actor) postLocked(d delivery) bool {
	if !a.put(d, a.engine.options.Now()) {
		return false
	}
	a.lookLocked()
	return true
}

// touch delays the eviction of the agent.
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
	if a.working || !a.hasWork() || a.engine.held.Load() {
		return
	}
	a.working = true
	a.engine.busy.Add(1)
	a.engine.steps.do(a.work)
}

// work empties the mailbox. Everything in it is appended to the ledger together.
func (a *actor) work() {
	defer a.engine.busy.Done()
	for {
		a.mu.Lock()
		if !a.hasWork() || a.engine.held.Load() {
			a.working = false
			a.mu.Unlock()
			return
		}
		batch := a.take()
		a.fence, _ = a.engine.tenure.current() // an actor that is not dropped was read in the current epoch
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

// pause requeues a batch that could not be recorded and retries later: a ledger that is down stops progress but loses nothing.
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
	a.engine.busy.Add(1) // a drain waits for unrecorded deliveries
	time.AfterFunc(a.engine.options.RetryLedger, func() {
		defer a.engine.busy.Done()
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.engine.ctx.Err() == nil {
			a.lookLocked()
		}
	})
}

// handle steps through a batch, records it and performs the effects. An error means that nothing was recorded and that a retry
// may succeed.
func (a *actor) handle(batch []delivery) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = a.caught(batch, value)
		}
	}()
	if batch, err = a.prepare(batch); err != nil {
		return err
	}
	r := a.step(batch)
	committed := false
	defer func() {
		if !committed {
			a.engine.budgets.release(a.uid, r.granted)
		}
	}()
	// An agent that ended before its object was deleted may still have calls that are being stopped. Close them now: after the
	// eviction their results would not be recorded.
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
		if r.takeOver && r.ended() { // the notifications may not have been sent
			a.notifyOthers(r)
		}
		return nil
	}
	if appended, err := a.append(batch, r); err != nil || !appended {
		return err
	}
	a.passed(r)
	if !a.engine.tenure.holds(a.fence) { // it is recorded; the new owner continues
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

// prepare loads the agent, and returns the batch with the facts that the agent missed before it.
func (a *actor) prepare(batch []delivery) ([]delivery, error) {
	if slices.ContainsFunc(batch, func(d delivery) bool { return d.takeOver && !d.fresh }) {
		a.unload() // another engine may have appended since this state was read
	}
	// An agent that was not found a moment ago and starts now need not be read again: if another engine has started it meanwhile,
	// the append fails.
	begins := slices.ContainsFunc(batch, func(d delivery) bool { return d.create != nil })
	if !begins || !a.isAbsent() {
		if err := a.load(a.engine.ctx); err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return nil, err
		}
	}
	batch, err := a.isolate(batch)
	if err != nil {
		return nil, err
	}
	if err := a.findOpen(batch); err != nil {
		return nil, err
	}
	if batch, err = a.catchUp(batch); err != nil {
		return nil, err
	}
	if begins {
		batch = a.withoutParent(batch)
	}
	return batch, nil
}

// append records a batch. It reports false if the ledger will never accept it as it is; the batch needs no retry then.
func (a *actor) append(batch []delivery, r *recording) (bool, error) {
	asked := time.Now()
	r.batch.Fence = a.fence
	err := a.engine.options.Ledger.Append(a.engine.ctx, r.batch)
	if errors.Is(err, ledger.ErrInvalid) && r.batch.Snapshot != nil {
		r.batch.Snapshot = nil // a snapshot is only an optimisation
		err = a.engine.options.Ledger.Append(a.engine.ctx, r.batch)
	}
	var conflict *ledger.ConflictError
	switch {
	case err == nil:
		a.engine.tenure.confirm(asked)
		return true, nil
	case errors.Is(err, ledger.ErrFenced):
		a.engine.followed(a.fence)
		a.release(batch)
		confirm(batch, ErrFollowed)
		return false, nil
	case errors.As(err, &conflict):
		a.overtaken(batch)
		return false, nil
	case errors.Is(err, ledger.ErrNoIntent):
		a.overtaken(withoutResults(batch)) // the results are already recorded
		return false, nil
	case errors.Is(err, ledger.ErrInvalid):
		// A retry would fail again and block the agent.
		a.engine.options.Trouble(fmt.Errorf("agent %s: %w", a.uid, err))
		a.release(batch)
		confirm(batch, err)
		return false, nil
	default:
		return false, err
	}
}

// passed reports the points that a successful append has reached.
func (a *actor) passed(r *recording) {
	if len(r.batch.ModelCalls)+len(r.batch.ToolCalls) > 0 {
		a.engine.reached(AfterIntent)
	}
	if len(r.batch.ModelResults)+len(r.batch.ToolResults) > 0 {
		a.engine.reached(AfterAppend)
	}
}

// release releases the reservations of calls whose results changed nothing.
func (a *actor) release(batch []delivery) {
	for _, d := range batch {
		a.engine.budgets.release(a.uid, d.reserved)
	}
}

// act stops effects that are no longer outstanding and starts new ones.
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

// retire marks an idle actor as dropped, so that it can be evicted, and reports whether it did. The registry's lock must be held: a
// concurrent delivery then gets a new actor.
func (a *actor) retire(before time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.isIdle(before) || len(a.inFlight) > 0 {
		return false
	}
	a.mailbox.drop()
	return true
}

// quiesce lets effects in flight finish and starts no new ones.
func (a *actor) quiesce() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.quiet = true
}

// drop stops all effects and discards the mailbox.
func (a *actor) drop() {
	a.mu.Lock()
	lost := a.mailbox.drop()
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
