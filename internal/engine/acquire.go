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

// Claim says how an engine acquires its shard.
type Claim struct {
	// HandOver asks a running owner to hand over, which lets the owner's calls finish. Without it, a running owner keeps the shard.
	HandOver bool
	// OwnerEnded reports that the owner is known to act no more, because its Lease has expired. It is not asked.
	OwnerEnded bool
	// Unavailable is called when the ledger begins to fail; it may be nil.
	Unavailable func()
}

// Acquire waits until this engine may append: until the current owner has handed over, has died, or has been silent for
// Options.TakeOverAfter.
func (e *Engine) Acquire(ctx context.Context, claim Claim) error {
	var pending shardRequest
	reported := false
	for {
		taken, err := e.tryAcquire(ctx, &pending, claim)
		switch {
		case taken:
			return nil
		case err != nil && !errors.Is(err, ledger.ErrUnavailable) && !errors.Is(err, ledger.ErrNeedsAttention):
			return err
		case err != nil && !reported: // giving up would restart the process, which would then ask a healthy owner to hand over
			reported = true
			e.options.ReportError(fmt.Errorf("acquire the shard: %w", err))
			if claim.Unavailable != nil {
				claim.Unavailable()
			}
		}
		wait := releasePollInterval
		if claim.HandOver {
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
func (e *Engine) tryAcquire(ctx context.Context, pending *shardRequest, claim Claim) (bool, error) {
	owner, err := e.options.Ledger.ReadOwner(ctx, e.shard.ID)
	if err != nil {
		return false, fmt.Errorf("read the owner of the shard: %w", err)
	}
	if owner.Retired() {
		return false, fmt.Errorf("acquire shard %d: %w", e.shard.ID, ledger.ErrRetired)
	}
	if !claim.HandOver && e.ownership.releasedRecently(owner.Epoch, e.options.TakeOverAfter) {
		return false, nil
	}
	unlock, err := e.lockLiveness(ctx)
	if err != nil && !errors.Is(err, ledger.ErrLivenessLocked) && !errors.Is(err, ledger.ErrUnsupported) {
		return false, fmt.Errorf("check the liveness lock: %w", err)
	}
	since := time.Now()
	patience := e.options.TakeOverAfter
	if err == nil { // the lock is free: the owner's process has ended, or only its connection
		patience = min(patience, ownershipMaxAge)
	}
	free := owner.Epoch == 0 || owner.Released || claim.OwnerEnded
	if !free && !pending.expired(owner, since, patience) {
		if unlock != nil {
			_ = unlock()
		}
		return false, e.requestShard(ctx, pending, owner, claim.HandOver)
	}
	fence, err := e.options.Ledger.TakeOver(ctx, e.shard.ID, owner.Epoch, e.options.Name, e.options.Now())
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

// lockLiveness takes the liveness lock of the shard. A leased shard has none: its Lease expires when the owner ends.
func (e *Engine) lockLiveness(ctx context.Context) (unlock func() error, err error) {
	if e.shard.Leased {
		return nil, ledger.ErrUnsupported
	}
	return e.options.Ledger.LockLiveness(ctx, e.shard.ID)
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
	err := e.options.Ledger.SendRequest(ctx, ledger.Fence{Shard: e.shard.ID, Epoch: owner.Epoch}, pending.request)
	if errors.Is(err, ledger.ErrFenced) {
		return nil // the owner is gone; the next attempt sees it
	}
	return err
}
