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
	// onlyShard is the one shard that all trees belong to.
	onlyShard = 1
	// holdEvery is how often the owner checks for requests of other engines.
	holdEvery = 500 * time.Millisecond
	// askEvery is how often a waiting engine checks for an answer, and lookEvery how often an engine that handed over checks
	// whether its successor has ended.
	askEvery  = 200 * time.Millisecond
	lookEvery = time.Second
	// standbyEvery is how often a superseded engine asks whether its successor is running.
	standbyEvery = 5 * time.Second
	// defaultPatience is how long an owner may be silent before another engine takes over.
	defaultPatience = 5 * time.Second
	// handOverTime bounds the wait for calls in flight during a hand-over, and drainEvery is how often to check them.
	handOverTime = 20 * time.Second
	drainEvery   = 25 * time.Millisecond
	// releaseTime bounds the release of the shard on shutdown.
	releaseTime = 5 * time.Second
	// unsureAfter is the age at which the last confirmation of ownership must be renewed before a call.
	unsureAfter = 3 * holdEvery
)

// ErrFollowed is returned when another engine has taken over. All effects are stopped then, and Acquire may be called again.
var ErrFollowed = errors.New("another operator has taken over")

// Hold keeps the shard until ctx ends and answers requests for it. It returns ErrFollowed when another engine has taken it over
// or it was handed over; by then all effects are stopped, and nothing more is appended.
func (e *Engine) Hold(ctx context.Context) error {
	ticker := time.NewTicker(holdEvery)
	defer ticker.Stop()
	fence, lost := e.tenure.current()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-lost:
			e.standDown()
			return e.leave(nil)
		case <-ticker.C:
		}
		request, err := e.answer(ctx, fence)
		switch {
		case ctx.Err() != nil:
			return nil // Close releases the lock
		case err != nil: // appends fail too and are retried
			_ = e.tenure.unattend() // the lock may be lost with the connection
			continue
		}
		e.attend(ctx)
		if request.HandOver {
			e.drain(context.WithoutCancel(ctx), fence, lost)
			e.standDown()
			return e.leave(e.options.Ledger.Release(context.WithoutCancel(ctx), fence))
		}
	}
}

// leave ends the ownership.
func (e *Engine) leave(err error) error {
	err = errors.Join(err, e.tenure.end())
	if err != nil && !errors.Is(err, ledger.ErrFenced) {
		e.options.Trouble(fmt.Errorf("hand over: %w", err)) // the successor detects it in any case
	}
	return ErrFollowed
}

// attend takes the liveness lock if this engine does not have it: one that took over from a stopped process could not take it at
// first.
func (e *Engine) attend(ctx context.Context) {
	if e.tenure.attended() {
		return
	}
	leave, err := e.options.Ledger.Attend(ctx, onlyShard)
	if err != nil {
		return
	}
	if !e.tenure.unlessOver(func() { e.tenure.leave = leave }) {
		_ = leave()
	}
}

// drain starts no more model calls, and lets calls in flight finish and be recorded.
func (e *Engine) drain(ctx context.Context, fence ledger.Fence, lost <-chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, handOverTime)
	defer cancel()
	e.quiet.Store(true)
	for _, a := range e.all() {
		a.quiesce()
	}
	ticker := time.NewTicker(drainEvery)
	defer ticker.Stop()
	for looked := time.Now(); e.calling(); {
		select {
		case <-ticker.C:
		case <-lost:
			return
		case <-ctx.Done():
			return
		}
		if time.Since(looked) >= holdEvery {
			looked = time.Now()
			_, _ = e.answer(ctx, fence)
		}
	}
}

// answer confirms that this engine still owns the shard, and returns the request that it answered, if any.
func (e *Engine) answer(ctx context.Context, fence ledger.Fence) (ledger.Request, error) {
	asked := time.Now()
	h, err := e.options.Ledger.Holding(ctx, onlyShard)
	switch {
	case err != nil:
		return ledger.Request{}, err
	case h.Epoch != fence.Epoch:
		e.followed(fence)
		return ledger.Request{}, nil
	}
	e.tenure.confirm(asked)
	if h.Request.ID == h.Answered {
		return ledger.Request{}, nil
	}
	return h.Request, e.options.Ledger.Answer(ctx, fence, h.Request.ID)
}

// calling reports whether an agent has a call in flight, or an unrecorded result.
func (e *Engine) calling() bool {
	for _, a := range e.all() {
		if a.calling() {
			return true
		}
	}
	return false
}

// standDown stops all effects and drops all agents. Deliveries wait for the next Recover.
func (e *Engine) standDown() {
	fence, _ := e.tenure.current()
	e.followed(fence) // appends in flight are too late to count
	e.recovered.set(false)
	for _, a := range e.actors.removeAll() {
		a.drop()
	}
	e.quiet.Store(false)
	e.reset()
}

// reset drops everything known about trees.
func (e *Engine) reset() {
	e.budgets.reset()
	e.slots.reset()
	e.directory.reset()
}

// followed marks this engine as superseded; Hold does the rest.
func (e *Engine) followed(fence ledger.Fence) { e.tenure.lose(fence, &e.held) }

// release marks the shard as free, so that a successor need not wait.
func (e *Engine) release(ctx context.Context) error {
	fence, _ := e.tenure.current()
	if fence == (ledger.Fence{}) {
		return nil
	}
	if !e.tenure.holds(fence) {
		return e.tenure.end()
	}
	err := e.options.Ledger.Release(ctx, fence)
	if errors.Is(err, ledger.ErrFenced) {
		err = nil
	}
	return errors.Join(err, e.tenure.end())
}

// mayAct reports whether this engine may make a call now. After a suspension it confirms its ownership first: another engine may
// have taken over and reported the call as unknown, or made it itself.
func (e *Engine) mayAct(ctx context.Context) bool {
	for e.tenure.unsure() {
		fence, _ := e.tenure.current()
		asked := time.Now()
		holding, err := e.options.Ledger.Holding(ctx, fence.Shard)
		switch {
		case err == nil && holding.Epoch == fence.Epoch:
			e.tenure.confirm(asked)
		case err == nil:
			e.followed(fence)
			return false
		default:
			select {
			case <-time.After(e.options.RetryLedger):
			case <-ctx.Done():
				return true // the caller detects it
			}
		}
	}
	return true
}
