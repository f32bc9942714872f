// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// ownership is an engine's ownership of the shard: the right to append.
type ownership struct {
	mu    sync.Mutex
	fence ledger.Fence
	// unlock releases the liveness lock; nil without a lock.
	unlock func() error
	// confirmedAt is when the ownership was last confirmed.
	confirmedAt time.Time
	// releasedAt is when the shard was handed over, if it was.
	releasedAt time.Time
	// lost is closed when the ownership ends; nil before the first one.
	lost chan struct{}
}

// ended reports whether the ownership has ended or is about to. The lock must be held.
func (t *ownership) ended() bool {
	select {
	case <-t.lost:
		return true
	default:
		return false
	}
}

func (t *ownership) begin(fence ledger.Fence, leave func() error, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fence, t.unlock, t.confirmedAt, t.releasedAt, t.lost = fence, leave, since, time.Time{}, make(chan struct{})
}

func (t *ownership) current() (ledger.Fence, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fence, t.lost
}

// confirm records that this engine owned the shard at a time.
func (t *ownership) confirm(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at.After(t.confirmedAt) {
		t.confirmedAt = at
	}
}

// owns reports whether an epoch is the current one and the ownership has not ended. An engine that never acquired the shard has
// none.
func (t *ownership) owns(fence ledger.Fence) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fence == fence && !t.ended()
}

// ifOwned calls begin and returns true, unless the ownership has ended.
func (t *ownership) ifOwned(begin func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended() {
		return false
	}
	begin()
	return true
}

// lose ends the ownership. An older epoch is ignored.
func (t *ownership) lose(fence ledger.Fence, held *atomic.Bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fence == fence && t.lost != nil && !t.ended() {
		held.Store(true)
		close(t.lost)
	}
}

// stale reports whether another engine may have taken the shard without this one having noticed.
func (t *ownership) stale() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	// The monotonic clock does not advance while a machine is suspended.
	since := max(time.Since(t.confirmedAt), time.Now().Round(0).Sub(t.confirmedAt.Round(0)))
	return t.fence != ledger.Fence{} && (t.ended() || since > ownershipMaxAge)
}

// releasedRecently reports whether this engine handed over in this epoch a moment ago, so that the successor is about to take the shard.
func (t *ownership) releasedRecently(epoch int64, patience time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fence.Epoch == epoch && time.Since(t.releasedAt) < patience
}

// end releases the liveness lock. The epoch stays set: appends in flight must not be made without one.
func (t *ownership) end() error {
	t.mu.Lock()
	t.releasedAt = time.Now()
	t.mu.Unlock()
	return t.releaseLock()
}

// locked reports whether this engine has the liveness lock.
func (t *ownership) locked() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unlock != nil
}

// releaseLock releases the liveness lock.
func (t *ownership) releaseLock() error {
	t.mu.Lock()
	leave := t.unlock
	t.unlock = nil
	t.mu.Unlock()
	if leave == nil {
		return nil
	}
	return leave()
}
