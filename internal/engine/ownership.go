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
	// begunAt is when the ownership began: an earlier read of the owner is not valid for it.
	begunAt time.Time
	// confirmedAt is when the ownership was last confirmed.
	confirmedAt time.Time
	// lost is closed when the ownership ends; nil before the first one.
	lost chan struct{}
}

// ended reports whether the ownership has ended or is about to. The lock must be held.
func (o *ownership) ended() bool {
	select {
	case <-o.lost:
		return true
	default:
		return false
	}
}

func (o *ownership) begin(fence ledger.Fence, since time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fence, o.begunAt, o.confirmedAt, o.lost = fence, time.Now(), since, make(chan struct{})
}

func (o *ownership) current() (ledger.Fence, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.fence, o.lost
}

// since returns when the ownership began.
func (o *ownership) since() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.begunAt
}

// confirm records that this engine owned the shard at a time.
func (o *ownership) confirm(at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if at.After(o.confirmedAt) {
		o.confirmedAt = at
	}
}

// owns reports whether an epoch is the current one and the ownership has not ended. An engine that never acquired the
// shard has none.
func (o *ownership) owns(fence ledger.Fence) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.fence == fence && !o.ended()
}

// ifOwned calls begin and returns true, unless the ownership has ended.
func (o *ownership) ifOwned(begin func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended() {
		return false
	}
	begin()
	return true
}

// lose ends the ownership and sets held, so that deliveries wait for the next Recover. An older epoch is ignored.
func (o *ownership) lose(fence ledger.Fence, held *atomic.Bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fence == fence && o.lost != nil && !o.ended() {
		held.Store(true)
		close(o.lost)
	}
}

// stale reports whether another engine may have taken the shard without this one having noticed.
func (o *ownership) stale() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	// The monotonic clock does not advance while a machine is suspended.
	since := max(time.Since(o.confirmedAt), time.Now().Round(0).Sub(o.confirmedAt.Round(0)))
	return o.fence != ledger.Fence{} && (o.ended() || since > ownershipMaxAge)
}
