// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine/admission"
	"github.com/nestor-dev/nestor/internal/engine/exchange"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// actor is one agent: its mailbox, its state and its effects in flight.
type actor struct {
	engine *Engine
	uid    string

	mu sync.Mutex
	mailbox
	draining bool // starts no new effects
	// judgesLater reports that a timer will judge the calls that wait for policies.
	judgesLater bool
	inFlight    map[string]func()
	fence       ledger.Fence           // of the current batch
	calling     map[string]bool        // calls that are being made, by the key of the effect
	detached    map[string]*detachment // those that continue after a hand-over
	// questions are those of tool calls in flight, and abandoned the calls that waited for a person at a hand-over, by the
	// key of the effect.
	questions map[string]*openQuestion
	abandoned map[string]bool
	progress  toolProgress
	partial   partialReply
	waiting   *admission.Call // the model call that was submitted last
	blocked   error           // why the ledger does not accept the mailbox

	// Only the working goroutine changes the following fields, with this lock held.
	stateMu      sync.Mutex
	loaded       bool
	notFound     bool // the ledger had no record of this agent when it was read
	record       ledger.Agent
	state        agent.State
	seq          int64
	snapshot     int64
	nextSnapshot snapshotCadence
	lastRequest  *exchange.Recorded
	// recorded is the record of a fork; nil before it is needed. beginning is set while a batch starts a fork. Only the working goroutine
	// uses them.
	recorded  *agent.Record
	beginning *beginning
	// fault is the reason why the agent must be quarantined; ignoreSnapshot prevents loading from its snapshot.
	fault          *agent.Quarantined
	ignoreSnapshot bool
}

// enqueue adds deliveries to the mailbox, to be handled together, and starts a goroutine if none is running. It reports
// false if the actor was dropped.
func (a *actor) enqueue(together ...delivery) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range together {
		if !a.enqueueLocked(d) {
			return false // deliveries before it were dropped too
		}
	}
	return true
}

func (a *actor) enqueueLocked(d delivery) bool {
	if !a.put(d, a.engine.options.Now()) {
		return false
	}
	a.scheduleLocked()
	return true
}

// touch delays the eviction of the agent.
func (a *actor) touch() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lastUse = a.engine.options.Now()
}

func (a *actor) schedule() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scheduleLocked()
}

func (a *actor) scheduleLocked() {
	if a.working || !a.hasWork() || a.engine.awaitsRecovery.Load() {
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
		if !a.hasWork() || a.engine.awaitsRecovery.Load() {
			a.working = false
			a.mu.Unlock()
			return
		}
		batch := a.take()
		a.fence, _ = a.engine.ownership.current() // an actor that is not dropped was read in the current epoch
		a.mu.Unlock()
		slow := a.watchAppend(batch)
		err := a.handle(batch)
		slow.stop()
		if err != nil {
			a.retryLater(batch, err)
			return
		}
		a.setBlocked(batch, nil)
	}
}

// retryLater requeues a batch that could not be recorded and retries later: a ledger that is down stops progress but
// loses nothing.
func (a *actor) retryLater(batch []delivery, err error) {
	ended := a.engine.ctx.Err() != nil
	if !ended {
		a.engine.options.ReportError(fmt.Errorf("agent %s waits for the ledger: %w", a.uid, err))
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
	time.AfterFunc(a.engine.options.LedgerRetryDelay, func() {
		defer a.engine.busy.Done()
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.engine.ctx.Err() == nil {
			a.scheduleLocked()
		}
	})
}

// handle steps through a batch, records it and performs the effects. An error means that nothing was recorded and that
// a retry may succeed.
func (a *actor) handle(batch []delivery) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = a.handlePanic(batch, value)
		}
	}()
	if batch, err = a.prepare(batch); err != nil {
		return err
	}
	r := a.step(batch)
	committed := false
	defer func() {
		if !committed {
			a.engine.budgets.Release(a.uid, r.granted)
		}
	}()
	// An agent that ended before its object was deleted may still have calls that are being stopped. Close them now: after
	// the eviction their results would not be recorded.
	if a.abandonsCalls(r) {
		if err := a.closeCalls(r); err != nil {
			return err
		}
	}
	if r.empty() {
		a.clearFault(r)
		a.releaseReservations(batch)
		confirmDeliveries(batch, r.ignoredReason())
		if r.end {
			a.engine.Evict(a.uid)
		}
		if r.takeOver && r.ended() { // the notifications may not have been sent
			a.notifyOthers(r)
		}
		return nil
	}
	if appended, err := a.append(batch, r); err != nil || !appended {
		return err
	}
	a.notifyPoints(r)
	if !a.engine.ownership.owns(a.fence) { // it is recorded; the new owner continues
		confirmDeliveries(batch, nil)
		return nil
	}
	committed = true
	a.commit(r)
	a.answerTools(r.next)
	a.engine.admission.CallsEnded(r.record.Namespace, r.batch.ModelResults)
	a.engine.admission.Appended(r.record, r.batch.AddedSize())
	for _, call := range r.inlineCalls {
		a.engine.options.CallCompleted(call)
	}
	change := Change{Agent: r.record, Before: r.before, After: r.next, Effects: r.effects, Events: r.events, Calls: r.calls, Deleted: r.end}
	a.engine.options.Recorded(change)
	confirmDeliveries(batch, nil)
	if r.end {
		a.engine.Evict(a.uid)
		a.cancelRemoteOfDeleted(r)
		a.notifyOthers(r)
		if r.before.Children.Pending() > 0 {
			a.engine.endBelow(r.record)
		}
		return nil
	}
	if r.takeOver && !r.record.Live() { // only its open calls were closed
		a.notifyOthers(r)
		return nil
	}
	a.performEffects(r)
	if r.quarantine {
		a.engine.cancelBelow(r.record)
	}
	a.checkParent(r)
	a.engine.notifyPoint(BeforeStatus)
	a.engine.options.Changed(change)
	return nil
}

// prepare loads the agent, and returns the batch with the facts that the agent missed before it.
func (a *actor) prepare(batch []delivery) ([]delivery, error) {
	if slices.ContainsFunc(batch, func(d delivery) bool { return d.takeOver && !d.justLoaded }) {
		a.unload() // another engine may have appended since this state was read
	}
	a.unmarkLost(batch)
	// An agent that was not found a moment ago and starts now need not be read again: if another engine has started it
	// meanwhile, the append fails.
	starts := slices.ContainsFunc(batch, func(d delivery) bool { return d.create != nil })
	if !starts || !a.isNotFound() {
		if err := a.load(a.engine.ctx); err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return nil, err
		}
	}
	batch, err := a.quarantineBatch(batch)
	if err != nil {
		return nil, err
	}
	if err := a.findOpenCalls(batch); err != nil {
		return nil, err
	}
	if batch, err = a.addMissedFacts(batch); err != nil {
		return nil, err
	}
	if err := a.beginFork(batch); err != nil {
		return nil, err
	}
	if err := a.loadRecord(batch); err != nil {
		return nil, err
	}
	if starts {
		batch = a.cancelIfOrphaned(batch)
	}
	return batch, nil
}

// append records a batch. It reports false if the ledger will never accept it as it is; the batch needs no retry then.
func (a *actor) append(batch []delivery, r *stepResult) (bool, error) {
	started := time.Now()
	r.batch.Fence = a.fence
	err := a.engine.options.Ledger.Append(a.engine.ctx, r.batch)
	if errors.Is(err, ledger.ErrInvalid) && r.batch.Snapshot != nil {
		r.batch.Snapshot = nil // a snapshot is only an optimisation
		err = a.engine.options.Ledger.Append(a.engine.ctx, r.batch)
	}
	var conflict *ledger.ConflictError
	switch {
	case err == nil:
		a.engine.ownership.confirm(started)
		return true, nil
	case errors.Is(err, ledger.ErrFenced):
		a.engine.superseded(a.fence)
		a.releaseReservations(batch)
		confirmDeliveries(batch, ErrSuperseded)
		return false, nil
	case errors.As(err, &conflict):
		a.handleConflict(batch)
		return false, nil
	case errors.Is(err, ledger.ErrNoIntent):
		a.handleConflict(factsOnly(batch)) // the results are already recorded
		return false, nil
	case errors.Is(err, ledger.ErrInvalid):
		// A retry would fail again and block the agent.
		a.engine.options.ReportError(fmt.Errorf("agent %s: %w", a.uid, err))
		a.releaseReservations(batch)
		confirmDeliveries(batch, err)
		return false, nil
	default:
		return false, err
	}
}

// notifyPoints reports the points that a successful append has reached.
func (a *actor) notifyPoints(r *stepResult) {
	if len(r.batch.ModelCalls)+len(r.batch.ToolCalls) > 0 {
		a.engine.notifyPoint(AfterIntent)
	}
	if len(r.batch.ModelResults)+len(r.batch.ToolResults) > 0 {
		a.engine.notifyPoint(AfterAppend)
	}
}

// releaseReservations releases the reservations of calls whose results changed nothing.
func (a *actor) releaseReservations(batch []delivery) {
	for _, d := range batch {
		a.engine.budgets.Release(a.uid, d.reserved)
	}
}

// performEffects stops effects that are no longer outstanding and starts new ones.
func (a *actor) performEffects(r *stepResult) {
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
		if r.outstanding[e.Key()] && (!r.parked || !needsSlot(e)) && !a.route(r, e) {
			a.perform(r, e)
		}
	}
	a.notifyOthers(r)
}

// retire marks an idle actor as dropped, so that it can be evicted, and reports whether it did. The registry's lock
// must be held: a concurrent delivery then gets a new actor.
func (a *actor) retire(before time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.isIdle(before) || !a.onlyTimersRun() {
		return false
	}
	a.mailbox.drop()
	return true
}

// onlyTimersRun reports whether no effect in flight needs the actor. A timer finds it, or loads the agent.
func (a *actor) onlyTimersRun() bool {
	for key := range a.inFlight {
		if !strings.HasPrefix(key, agent.WakePrefix) {
			return false
		}
	}
	return true
}

// quiesce lets effects in flight finish and starts no new ones.
func (a *actor) quiesce() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.draining = true
	a.abandonQuestionsLocked()
}

// drop stops all effects and discards the mailbox.
func (a *actor) drop() {
	a.mu.Lock()
	lost := a.mailbox.drop()
	a.mu.Unlock()
	confirmDeliveries(lost, errEvicted)
	a.stopAll()
}

func (a *actor) stopAll() {
	a.mu.Lock()
	stops := a.inFlight
	a.inFlight = map[string]func(){}
	for key := range a.detached {
		if stop, ok := stops[key]; ok {
			a.inFlight[key] = stop
			delete(stops, key)
		}
	}
	a.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}
