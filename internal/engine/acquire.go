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
// Options.TakeOverAfter. With handOver it asks a running owner to hand over, which lets the owner's calls finish; without it, a
// running owner keeps the shard.
func (e *Engine) Acquire(ctx context.Context, handOver bool) error {
	var asked shardRequest
	told := false
	for {
		taken, err := e.tryAcquire(ctx, &asked, handOver)
		switch {
		case taken:
			return nil
		case err != nil && !errors.Is(err, ledger.ErrUnavailable) && !errors.Is(err, ledger.ErrNeedsAttention):
			return err
		case err != nil && !told: // giving up would restart the process, which would then ask a healthy owner to hand over
			told = true
			e.options.ReportError(fmt.Errorf("acquire the shard: %w", err))
		}
		wait := releasePollInterval
		if handOver {
			wait = requestPollInterval
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryAcquire takes the shard if it is free, or requests it.
func (e *Engine) tryAcquire(ctx context.Context, asked *shardRequest, handOver bool) (bool, error) {
	holding, err := e.options.Ledger.ReadOwner(ctx, onlyShard)
	if err != nil {
		return false, fmt.Errorf("read the owner of the shard: %w", err)
	}
	if !handOver && e.ownership.releasedRecently(holding.Epoch, e.options.TakeOverAfter) {
		return false, nil
	}
	leave, err := e.options.Ledger.LockLiveness(ctx, onlyShard)
	if err != nil && !errors.Is(err, ledger.ErrLivenessLocked) && !errors.Is(err, ledger.ErrUnsupported) {
		return false, fmt.Errorf("check the liveness lock: %w", err)
	}
	since := time.Now()
	patience := e.options.TakeOverAfter
	if err == nil { // the lock is free: the owner's process has ended, or only its connection
		patience = min(patience, ownershipMaxAge)
	}
	free := holding.Epoch == 0 || holding.Released
	if !free && !asked.expired(holding, since, patience) {
		if leave != nil {
			_ = leave()
		}
		return false, e.requestShard(ctx, asked, holding, handOver)
	}
	fence, err := e.options.Ledger.TakeOver(ctx, onlyShard, holding.Epoch, e.options.Holder, e.options.Now())
	if err != nil {
		if leave != nil {
			err = errors.Join(err, leave())
		}
		if errors.Is(err, ledger.ErrFenced) { // another engine was faster
			*asked = shardRequest{}
			return false, nil
		}
		return false, err
	}
	e.ownership.begin(fence, leave, since)
	return true, nil
}

// shardRequest is the state of a request to the current owner.
type shardRequest struct {
	epoch   int64
	request ledger.OwnerRequest
	// requestedAt is when the request was sent, since when this engine first waited for the owner.
	requestedAt, waitingSince time.Time
	answered                  string
}

// expired reports whether the owner is silent, or takes too long to hand over.
func (a *shardRequest) expired(h ledger.ShardOwner, now time.Time, patience time.Duration) bool {
	if a.epoch != h.Epoch {
		return false // no request to this owner
	}
	if h.Answered != a.answered {
		a.answered = h.Answered
		if a.waitingSince.IsZero() {
			a.waitingSince = now
		}
		if !a.request.HandOver { // the owner is running: ask again later
			a.requestedAt = now.Add(standbyInterval)
			a.request.ID = ""
		}
	}
	if a.request.HandOver && !a.waitingSince.IsZero() {
		return now.Sub(a.waitingSince) > handOverTimeout+patience
	}
	return now.Sub(a.requestedAt) > patience
}

// requestShard sends a request to the owner, unless it has one from this engine.
func (e *Engine) requestShard(ctx context.Context, asked *shardRequest, h ledger.ShardOwner, handOver bool) error {
	now := time.Now()
	if asked.epoch != h.Epoch {
		*asked = shardRequest{epoch: h.Epoch, requestedAt: now, answered: h.Answered}
	}
	if asked.request.ID != "" && h.Request.ID == asked.request.ID || asked.request.ID == "" && now.Before(asked.requestedAt) {
		return nil
	}
	// Another engine's request may have replaced ours: send it again. The waiting time counts from the first request.
	asked.request = ledger.OwnerRequest{ID: fmt.Sprintf("%s/%d", e.options.Holder, now.UnixNano()), HandOver: handOver}
	err := e.options.Ledger.SendRequest(ctx, ledger.Fence{Shard: onlyShard, Epoch: h.Epoch}, asked.request)
	if errors.Is(err, ledger.ErrFenced) {
		return nil // the owner is gone; the next attempt sees it
	}
	return err
}
