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

// Acquire waits until this engine may append: until the current owner has handed over, has died, or has been silent for
// Options.Patience. With handOver it asks a running owner to hand over, which lets the owner's calls finish; without it, a
// running owner keeps the shard.
func (e *Engine) Acquire(ctx context.Context, handOver bool) error {
	var asked asking
	told := false
	for {
		taken, err := e.tryToTake(ctx, &asked, handOver)
		switch {
		case taken:
			return nil
		case err != nil && !errors.Is(err, ledger.ErrUnavailable) && !errors.Is(err, ledger.ErrNeedsAttention):
			return err
		case err != nil && !told: // giving up would restart the process, which would then ask a healthy owner to hand over
			told = true
			e.options.Trouble(fmt.Errorf("acquire the shard: %w", err))
		}
		wait := lookEvery
		if handOver {
			wait = askEvery
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryToTake takes the shard if it is free, or requests it.
func (e *Engine) tryToTake(ctx context.Context, asked *asking, handOver bool) (bool, error) {
	holding, err := e.options.Ledger.Holding(ctx, onlyShard)
	if err != nil {
		return false, fmt.Errorf("read the owner of the shard: %w", err)
	}
	if !handOver && e.tenure.leftTo(holding.Epoch, e.options.Patience) {
		return false, nil
	}
	leave, err := e.options.Ledger.Attend(ctx, onlyShard)
	if err != nil && !errors.Is(err, ledger.ErrAttended) && !errors.Is(err, ledger.ErrUnsupported) {
		return false, fmt.Errorf("check the liveness lock: %w", err)
	}
	since := time.Now()
	patience := e.options.Patience
	if err == nil { // the lock is free: the owner's process has ended, or only its connection
		patience = min(patience, unsureAfter)
	}
	free := holding.Epoch == 0 || holding.Released
	if !free && !asked.inVain(holding, since, patience) {
		if leave != nil {
			_ = leave()
		}
		return false, e.ask(ctx, asked, holding, handOver)
	}
	fence, err := e.options.Ledger.Take(ctx, onlyShard, holding.Epoch, e.options.Holder, e.options.Now())
	if err != nil {
		if leave != nil {
			err = errors.Join(err, leave())
		}
		if errors.Is(err, ledger.ErrFenced) { // another engine was faster
			*asked = asking{}
			return false, nil
		}
		return false, err
	}
	e.tenure.begin(fence, leave, since)
	return true, nil
}

// asking is the state of a request to the current owner.
type asking struct {
	epoch   int64
	request ledger.Request
	// at is when the request was sent, since when this engine first waited for the owner.
	at, since time.Time
	answered  string
}

// inVain reports whether the owner is silent, or takes too long to hand over.
func (a *asking) inVain(h ledger.Holding, now time.Time, patience time.Duration) bool {
	if a.epoch != h.Epoch {
		return false // no request to this owner
	}
	if h.Answered != a.answered {
		a.answered = h.Answered
		if a.since.IsZero() {
			a.since = now
		}
		if !a.request.HandOver { // the owner is running: ask again later
			a.at = now.Add(standbyEvery)
			a.request.ID = ""
		}
	}
	if a.request.HandOver && !a.since.IsZero() {
		return now.Sub(a.since) > handOverTime+patience
	}
	return now.Sub(a.at) > patience
}

// ask sends a request to the owner, unless it has one from this engine.
func (e *Engine) ask(ctx context.Context, asked *asking, h ledger.Holding, handOver bool) error {
	now := time.Now()
	if asked.epoch != h.Epoch {
		*asked = asking{epoch: h.Epoch, at: now, answered: h.Answered}
	}
	if asked.request.ID != "" && h.Request.ID == asked.request.ID || asked.request.ID == "" && now.Before(asked.at) {
		return nil
	}
	// Another engine's request may have replaced ours: send it again. The waiting time counts from the first request.
	asked.request = ledger.Request{ID: fmt.Sprintf("%s/%d", e.options.Holder, now.UnixNano()), HandOver: handOver}
	err := e.options.Ledger.Ask(ctx, ledger.Fence{Shard: onlyShard, Epoch: h.Epoch}, asked.request)
	if errors.Is(err, ledger.ErrFenced) {
		return nil // the owner is gone; the next attempt sees it
	}
	return err
}
