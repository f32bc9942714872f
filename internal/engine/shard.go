// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

const (
	// renewInterval is how often the owner checks for requests of other engines.
	renewInterval = 500 * time.Millisecond
	// requestPollInterval is how often a waiting engine checks for an answer, and releasePollInterval how often an engine that
	// handed over checks whether its successor has ended.
	requestPollInterval = 200 * time.Millisecond
	releasePollInterval = time.Second
	// standbyInterval is how often a superseded engine asks whether its successor is running.
	standbyInterval = 5 * time.Second
	// defaultTakeOverAfter is how long an owner may be silent before another engine takes over.
	defaultTakeOverAfter = 5 * time.Second
	// handOverTimeout bounds the wait for calls in flight during a hand-over, and drainPollInterval is how often to check them.
	handOverTimeout   = 20 * time.Second
	drainPollInterval = 25 * time.Millisecond
	// releaseTimeout bounds the release of the shard on shutdown.
	releaseTimeout = 5 * time.Second
	// ownerMaxAge is the age at which the owners that were read for another shard are read again.
	ownerMaxAge = renewInterval * 4 / 5
	// ownershipMaxAge is the age at which the last confirmation of ownership must be renewed before a call.
	ownershipMaxAge = 3 * renewInterval
)

// ErrSuperseded is returned when another engine has taken over. All effects are stopped then, and Acquire may be called again.
var ErrSuperseded = errors.New("another operator has taken over")

// OwnShard keeps the shard until ctx ends and answers requests for it. It returns ErrSuperseded when another engine has taken it
// over or it was handed over; by then all effects are stopped, and nothing more is appended.
func (e *Engine) OwnShard(ctx context.Context) error {
	ticker := time.NewTicker(renewInterval)
	defer ticker.Stop()
	fence, lost := e.ownership.current()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-lost:
			e.standDown()
			return e.endOwnership(nil)
		case <-ticker.C:
		}
		request, err := e.answerRequest(ctx, fence)
		switch {
		case ctx.Err() != nil:
			return nil // Close or HandOver releases the shard
		case err != nil: // appends fail too and are retried
			_ = e.ownership.releaseLock() // the lock may be lost with the connection
			continue
		}
		e.ensureLivenessLock(ctx)
		if request.HandOver {
			e.HandOver(context.WithoutCancel(ctx))
			return ErrSuperseded
		}
	}
}

// HandOver lets the calls in flight finish, until ctx ends, stops all effects and releases the shard. Acquire may be called again.
func (e *Engine) HandOver(ctx context.Context) {
	fence, lost := e.ownership.current()
	e.drain(ctx, fence, lost)
	e.standDown()
	_ = e.endOwnership(e.options.Ledger.Release(context.WithoutCancel(ctx), fence))
}

// endOwnership ends the ownership.
func (e *Engine) endOwnership(err error) error {
	err = errors.Join(err, e.ownership.end())
	if err != nil && !errors.Is(err, ledger.ErrFenced) {
		e.options.ReportError(fmt.Errorf("hand over: %w", err)) // the successor detects it in any case
	}
	return ErrSuperseded
}

// ensureLivenessLock takes the liveness lock if this engine does not have it: one that took over from a stopped process could not
// take it at first.
func (e *Engine) ensureLivenessLock(ctx context.Context) {
	if e.ownership.locked() {
		return
	}
	unlock, err := e.lockLiveness(ctx)
	if err != nil {
		return
	}
	if !e.ownership.ifOwned(func() { e.ownership.unlock = unlock }) {
		_ = unlock()
	}
}

// drain starts no more model calls and no reconciles, and lets calls in flight finish and be recorded, or be detached. A status that a
// reconcile wrote later would be outdated.
func (e *Engine) drain(ctx context.Context, fence ledger.Fence, lost <-chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, handOverTimeout)
	defer cancel()
	e.draining.Store(true)
	e.recovered.Store(false) // no reconcile begins
	for _, a := range e.allActors() {
		a.quiesce()
	}
	ticker := time.NewTicker(drainPollInterval)
	defer ticker.Stop()
	begun := time.Now()
	detached := begun // when calls could last be detached
	for read := begun; e.hasCallsInFlight() || e.reconciles.busy(); {
		select {
		case <-ticker.C:
		case <-lost:
			return
		case <-ctx.Done():
			return
		}
		if e.shard.Leased && time.Since(begun) >= detachAfter {
			switch {
			case e.detachCalls(ctx, fence):
				detached = time.Now()
			case time.Since(detached) > detachTimeout:
				return // without the ledger, the results could not be recorded either
			}
		}
		if time.Since(read) >= renewInterval {
			read = time.Now()
			_, _ = e.answerRequest(ctx, fence)
		}
	}
}

// answerRequest confirms that this engine still owns the shard, and returns the request that it answered, if any.
func (e *Engine) answerRequest(ctx context.Context, fence ledger.Fence) (ledger.OwnerRequest, error) {
	owner, started, err := e.readOwner(ctx, latest(e.ownership.since(), time.Now().Add(-ownerMaxAge)))
	switch {
	case err != nil:
		return ledger.OwnerRequest{}, err
	case owner.Epoch != fence.Epoch:
		e.superseded(fence)
		return ledger.OwnerRequest{}, nil
	}
	e.ownership.confirm(started)
	if owner.Request.ID == owner.Answered {
		return ledger.OwnerRequest{}, nil
	}
	return owner.Request, e.options.Ledger.AnswerRequest(ctx, fence, owner.Request.ID)
}

// hasCallsInFlight reports whether an agent has a call in flight, or an unrecorded result.
func (e *Engine) hasCallsInFlight() bool {
	for _, a := range e.allActors() {
		if a.hasCallsInFlight() {
			return true
		}
	}
	return false
}

// standDown stops all effects and drops all agents. Deliveries wait for the next Recover.
func (e *Engine) standDown() {
	fence, _ := e.ownership.current()
	e.superseded(fence) // appends in flight are too late to count
	e.recovered.Store(false)
	for _, a := range e.actors.removeAll() {
		a.drop()
	}
	e.draining.Store(false)
	e.reset()
}

// reset drops everything known about trees.
func (e *Engine) reset() {
	e.budgets.Reset()
	e.slots.ReleaseAll(e)
	e.directory.reset()
	e.adopted.reset()
	e.index.removeAll(e)
}

// superseded marks this engine as superseded; OwnShard does the rest.
func (e *Engine) superseded(fence ledger.Fence) { e.ownership.lose(fence, &e.awaitsRecovery) }

// releaseShard marks the shard as free, so that a successor need not wait.
func (e *Engine) releaseShard(ctx context.Context) error {
	fence, _ := e.ownership.current()
	if fence == (ledger.Fence{}) {
		return nil
	}
	if !e.ownership.owns(fence) {
		return e.ownership.end()
	}
	err := e.options.Ledger.Release(ctx, fence)
	if errors.Is(err, ledger.ErrFenced) {
		err = nil
	}
	return errors.Join(err, e.ownership.end())
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// mayCall reports whether this engine may make a call now. After a suspension it confirms its ownership first: another engine may
// have taken over and reported the call as unknown, or made it itself.
func (e *Engine) mayCall(ctx context.Context) bool {
	for e.ownership.stale() {
		fence, _ := e.ownership.current()
		owner, started, err := e.readOwner(ctx, time.Now())
		switch {
		case err == nil && owner.Epoch == fence.Epoch:
			e.ownership.confirm(started)
		case err == nil:
			e.superseded(fence)
			return false
		default:
			select {
			case <-time.After(e.options.LedgerRetryDelay):
			case <-ctx.Done():
				return true // the caller detects it
			}
		}
	}
	return true
}
