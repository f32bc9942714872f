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

// Acquire waits until this engine may append: until the one that is at work has handed over, has died or is silent for long. Handing over
// lets its calls finish. Without handOver an engine that is alive is left at work.
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
		case err != nil && !told: // one that gave up and was started again would ask the one at work to hand over
			told = true
			e.options.Trouble(fmt.Errorf("wait for the ledger: %w", err))
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

// tryToTake takes the shard if it can be had, or asks for it.
func (e *Engine) tryToTake(ctx context.Context, asked *asking, handOver bool) (bool, error) {
	holding, err := e.options.Ledger.Holding(ctx, onlyShard)
	if err != nil {
		return false, fmt.Errorf("look who is at work: %w", err)
	}
	if !handOver && e.tenure.leftTo(holding.Epoch, e.options.Patience) {
		return false, nil
	}
	leave, err := e.options.Ledger.Attend(ctx, onlyShard)
	if err != nil && !errors.Is(err, ledger.ErrAttended) && !errors.Is(err, ledger.ErrUnsupported) {
		return false, fmt.Errorf("look whether somebody is at work: %w", err)
	}
	since := time.Now()
	patience := e.options.Patience
	if err == nil { // nobody attends: the process has ended, or only its connection has
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
		if errors.Is(err, ledger.ErrFenced) { // somebody was faster
			*asked = asking{}
			return false, nil
		}
		return false, err
	}
	e.tenure.begin(fence, leave, since)
	return true, nil
}

// asking is what an engine has asked of the one that is at work.
type asking struct {
	epoch   int64
	request ledger.Request
	// at is when it asked, and since when it first heard something.
	at, since time.Time
	answered  string
}

// inVain says whether the one that is at work is silent, or takes too long to hand over.
func (a *asking) inVain(h ledger.Holding, now time.Time, patience time.Duration) bool {
	if a.epoch != h.Epoch {
		return false // nothing has been asked of this one
	}
	if h.Answered != a.answered {
		a.answered = h.Answered
		if a.since.IsZero() {
			a.since = now
		}
		if !a.request.HandOver { // it lives: ask again later
			a.at = now.Add(standbyEvery)
			a.request.ID = ""
		}
	}
	if a.request.HandOver && !a.since.IsZero() {
		return now.Sub(a.since) > handOverTime+patience
	}
	return now.Sub(a.at) > patience
}

// ask asks the one that is at work, unless the request stands already.
func (e *Engine) ask(ctx context.Context, asked *asking, h ledger.Holding, handOver bool) error {
	now := time.Now()
	if asked.epoch != h.Epoch {
		*asked = asking{epoch: h.Epoch, at: now, answered: h.Answered}
	}
	if asked.request.ID != "" && h.Request.ID == asked.request.ID || asked.request.ID == "" && now.Before(asked.at) {
		return nil
	}
	// One whose request was replaced by another's asks again; how long it has waited counts from the first time.
	asked.request = ledger.Request{ID: fmt.Sprintf("%s/%d", e.options.Holder, now.UnixNano()), HandOver: handOver}
	err := e.options.Ledger.Ask(ctx, ledger.Fence{Shard: onlyShard, Epoch: h.Epoch}, asked.request)
	if errors.Is(err, ledger.ErrFenced) {
		return nil // it is over; the next look tells
	}
	return err
}
