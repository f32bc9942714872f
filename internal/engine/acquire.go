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
	var pending shardRequest
	reported := false
	for {
		taken, err := e.tryAcquire(ctx, &pending, handOver)
		switch {
		case taken:
			return nil
		case err != nil && !errors.Is(err, ledger.ErrUnavailable) && !errors.Is(err, ledger.ErrNeedsAttention):
			return err
		case err != nil && !reported: // giving up would restart the process, which would then ask a healthy owner to hand over
			reported = true
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
func (e *Engine) tryAcquire(ctx context.Context, pending *shardRequest, handOver bool) (bool, error) {
	owner, err := e.options.Ledger.ReadOwner(ctx, onlyShard)
	if err != nil {
		return false, fmt.Errorf("read the owner of the shard: %w", err)
	}
	if !handOver && e.ownership.releasedRecently(owner.Epoch, e.options.TakeOverAfter) {
		return false, nil
	}
	unlock, err := e.options.Ledger.LockLiveness(ctx, onlyShard)
	if err != nil && !errors.Is(err, ledger.ErrLivenessLocked) && !errors.Is(err, ledger.ErrUnsupported) {
		return false, fmt.Errorf("check the liveness lock: %w", err)
	}
	since := time.Now()
	patience := e.options.TakeOverAfter
	if err == nil { // the lock is free: the owner's process has ended, or only its connection
		patience = min(patience, ownershipMaxAge)
	}
	free := owner.Epoch == 0 || owner.Released
	if !free && !pending.expired(owner, since, patience) {
		if unlock != nil {
			_ = unlock()
		}
		return false, e.requestShard(ctx, pending, owner, handOver)
	}
	fence, err := e.options.Ledger.TakeOver(ctx, onlyShard, owner.Epoch, e.options.Name, e.options.Now())
	if err != nil {
		if unlock != nil {
			err = errors.Join(err, unlock())
		}
		if errors.Is(err, ledger.ErrFenced) { // another engine was faster
			*pending = shardRequest{}
			return false, nil
		}
		return false, err
	}
	e.ownership.begin(fence, unlock, since)
	return true, nil
}

// shardRequest is the state of a request to the current owner.
type shardRequest struct {
	epoch   int64
	request ledger.OwnerRequest
	// requestedAt is when the request was sent, waitingSince when the owner first answered it.
	requestedAt, waitingSince time.Time
	answered                  string
}

// expired reports whether the owner is silent, or takes too long to hand over.
func (r *shardRequest) expired(owner ledger.ShardOwner, now time.Time, patience time.Duration) bool {
	if r.epoch != owner.Epoch {
		return false // no request to this owner
	}
	if owner.Answered != r.answered {
		r.answered = owner.Answered
		if r.waitingSince.IsZero() {
			r.waitingSince = now
		}
		if !r.request.HandOver { // the owner is running: ask again later
			r.requestedAt = now.Add(standbyInterval)
			r.request.ID = ""
		}
	}
	if r.request.HandOver && !r.waitingSince.IsZero() {
		return now.Sub(r.waitingSince) > handOverTimeout+patience
	}
	return now.Sub(r.requestedAt) > patience
}

// requestShard sends a request to the owner, unless it has one from this engine.
func (e *Engine) requestShard(ctx context.Context, pending *shardRequest, owner ledger.ShardOwner, handOver bool) error {
	now := time.Now()
	if pending.epoch != owner.Epoch {
		*pending = shardRequest{epoch: owner.Epoch, requestedAt: now, answered: owner.Answered}
	}
	if pending.request.ID != "" && owner.Request.ID == pending.request.ID || pending.request.ID == "" && now.Before(pending.requestedAt) {
		return nil
	}
	// Another engine's request may have replaced ours: send it again. The waiting time counts from the first request.
	pending.request = ledger.OwnerRequest{ID: fmt.Sprintf("%s/%d", e.options.Name, now.UnixNano()), HandOver: handOver}
	err := e.options.Ledger.SendRequest(ctx, ledger.Fence{Shard: onlyShard, Epoch: owner.Epoch}, pending.request)
	if errors.Is(err, ledger.ErrFenced) {
		return nil // the owner is gone; the next attempt sees it
	}
	return err
}
