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
	// confirmInterval is how often the owner reads whether another engine has taken over, and acquireInterval how often an
	// engine that waits for the shard reads whether it is free.
	confirmInterval = 500 * time.Millisecond
	acquireInterval = 200 * time.Millisecond
	// handOverTimeout bounds the wait for calls in flight during a hand-over, and drainPollInterval is how often to check
	// them.
	handOverTimeout   = 20 * time.Second
	drainPollInterval = 25 * time.Millisecond
	// releaseTimeout bounds the release of the shard on shutdown.
	releaseTimeout = 5 * time.Second
	// ownerMaxAge is the age at which the owners that were read for another shard are read again.
	ownerMaxAge = confirmInterval * 4 / 5
	// ownershipMaxAge is the age at which the last confirmation of ownership must be renewed before a call.
	ownershipMaxAge = 3 * confirmInterval
)

// ErrSuperseded is returned when another engine has taken over. All effects are stopped then, and Acquire may be called
// again.
var ErrSuperseded = errors.New("another operator has taken over")

// OwnShard keeps the shard until ctx ends. It returns ErrSuperseded when another engine has taken it over; by then all
// effects are stopped, and nothing more is appended.
func (e *Engine) OwnShard(ctx context.Context) error {
	ticker := time.NewTicker(confirmInterval)
	defer ticker.Stop()
	fence, lost := e.ownership.current()
	for {
		select {
		case <-ctx.Done():
			return nil // Close or HandOver releases the shard
		case <-lost:
			e.standDown()
			return ErrSuperseded
		case <-ticker.C:
			e.confirm(ctx, fence)
		}
	}
}

// HandOver lets the calls in flight finish, until ctx ends, stops all effects and releases the shard. Acquire may be
// called again. It returns ErrSuperseded if another engine has taken over before: an operator that was suspended may
// notice its successor here first.
func (e *Engine) HandOver(ctx context.Context) error {
	fence, lost := e.ownership.current()
	e.drain(ctx, fence, lost)
	e.standDown()
	err := e.options.Ledger.Release(context.WithoutCancel(ctx), fence)
	switch {
	case errors.Is(err, ledger.ErrFenced):
		return ErrSuperseded
	case err != nil:
		e.options.ReportError(fmt.Errorf("hand over: %w", err)) // the successor waits until this operator has left
	}
	return nil
}

// drain starts no more model calls and no reconciles, and lets calls in flight finish and be recorded, or be detached.
// A status that a reconcile wrote later would be outdated.
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
	start := time.Now()
	detached := start // when calls could last be detached
	for read := start; e.hasCallsInFlight() || e.reconciles.busy(); {
		select {
		case <-ticker.C:
		case <-lost:
			return
		case <-ctx.Done():
			return
		}
		if time.Since(start) >= detachAfter {
			switch {
			case e.detachCalls(ctx, fence):
				detached = time.Now()
			case time.Since(detached) > detachTimeout:
				return // without the ledger, the results could not be recorded either
			}
		}
		if time.Since(read) >= confirmInterval {
			read = time.Now()
			e.confirm(ctx, fence)
		}
	}
}

// confirm checks that this engine still owns the shard. An error changes nothing: appends fail too, and are retried.
func (e *Engine) confirm(ctx context.Context, fence ledger.Fence) {
	owner, started, err := e.owners.read(ctx, e.shard.ID, latest(e.ownership.since(), time.Now().Add(-ownerMaxAge)))
	switch {
	case err != nil:
	case owner.Epoch != fence.Epoch:
		e.superseded(fence)
	default:
		e.ownership.confirm(started)
	}
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
	if fence == (ledger.Fence{}) || !e.ownership.owns(fence) {
		return nil
	}
	err := e.options.Ledger.Release(ctx, fence)
	if errors.Is(err, ledger.ErrFenced) {
		return nil
	}
	return err
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// mayCall reports whether this engine may make a call now. After a suspension it confirms its ownership first: another
// engine may have taken over and reported the call as unknown, or made it itself.
func (e *Engine) mayCall(ctx context.Context) bool {
	for e.ownership.stale() {
		fence, _ := e.ownership.current()
		owner, started, err := e.owners.read(ctx, e.shard.ID, time.Now())
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
