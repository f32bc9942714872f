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
	// holdEvery is how often the engine that is at work looks whether another one asks something of it.
	holdEvery = 500 * time.Millisecond
	// askEvery is how often one that waits looks for an answer, and lookEvery how often one that stands by looks whether its successor
	// is gone.
	askEvery  = 200 * time.Millisecond
	lookEvery = time.Second
	// standbyEvery is how often one that was followed asks whether its successor lives.
	standbyEvery = 5 * time.Second
	// defaultPatience is how long an engine may be silent before another one takes over from it.
	defaultPatience = 5 * time.Second
	// handOverTime bounds how long the calls in flight may take when the shard is handed over, and drainEvery is how often to look
	// whether they have finished.
	handOverTime = 20 * time.Second
	drainEvery   = 25 * time.Millisecond
	// releaseTime bounds how long an engine that ends waits for the ledger to note it.
	releaseTime = 5 * time.Second
	// unsureAfter is how old the knowledge may be that this engine holds the shard when it makes a call.
	unsureAfter = 3 * holdEvery
)

// ErrFollowed says that another engine has taken over from this one, which has stopped everything and may Acquire again.
var ErrFollowed = errors.New("another operator has taken over")

// Hold keeps the shard until ctx ends, and answers those who ask for it. It returns ErrFollowed when another engine has taken it, or it was
// handed over to one; by then everything in flight has been stopped and nothing will be appended.
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
			return nil // the lock stays until Close
		case err != nil: // appends fail too, and are tried again
			_ = e.tenure.unattend() // with the database, the lock may have gone
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

// leave ends the tenure.
func (e *Engine) leave(err error) error {
	err = errors.Join(err, e.tenure.end())
	if err != nil && !errors.Is(err, ledger.ErrFenced) {
		e.options.Trouble(fmt.Errorf("hand over: %w", err)) // the successor notices in any case
	}
	return ErrFollowed
}

// attend tells others that this process lives, if nothing does: an engine that took over from one that was stopped could not.
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

// drain begins no more model calls, and lets the calls in flight finish and be recorded.
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

// answer looks whether the shard is still this engine's, and returns the request that it has answered, if there was one.
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

// calling says whether an agent makes a call, or has the result of one that is not recorded.
func (e *Engine) calling() bool {
	for _, a := range e.all() {
		if a.calling() {
			return true
		}
	}
	return false
}

// standDown stops everything that is in flight and forgets every agent. What comes from now on waits for the next Recover.
func (e *Engine) standDown() {
	fence, _ := e.tenure.current()
	e.followed(fence) // what is still on its way to the ledger comes too late to count
	e.setRecovered(false)
	e.mu.Lock()
	actors := e.actors
	e.actors = map[string]*actor{}
	e.mu.Unlock()
	for _, a := range actors {
		a.drop()
	}
	e.quiet.Store(false)
	e.reset()
}

// reset forgets what was known of trees.
func (e *Engine) reset() {
	e.budgets.reset()
	e.slots.reset()
	e.directory.reset()
}

// followed stops everything because of a successor; Hold does the rest.
func (e *Engine) followed(fence ledger.Fence) { e.tenure.lose(fence, &e.held) }

// release tells a successor that nothing will be appended any more.
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

// mayAct says whether this engine may make a call now. It usually knows; an engine that was stopped for a while asks, for another one may
// have taken over, which knows the call as unknown or makes it itself.
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
				return true // whoever was to make the call notices
			}
		}
	}
	return true
}
