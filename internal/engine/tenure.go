// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// tenure is an engine's ownership of the shard: the right to append.
type tenure struct {
	mu    sync.Mutex
	fence ledger.Fence
	// leave releases the liveness lock; nil without a lock.
	leave func() error
	// sure is when the ownership was last confirmed.
	sure time.Time
	// left is when the shard was handed over, if it was.
	left time.Time
	// lost is closed when the ownership ends; nil before the first one.
	lost chan struct{}
}

// over reports whether the ownership has ended or is about to. The lock must be held.
func (t *tenure) over() bool {
	select {
	case <-t.lost:
		return true
	default:
		return false
	}
}

func (t *tenure) begin(fence ledger.Fence, leave func() error, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fence, t.leave, t.sure, t.left, t.lost = fence, leave, since, time.Time{}, make(chan struct{})
}

func (t *tenure) current() (ledger.Fence, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fence, t.lost
}

// confirm records that this engine owned the shard at a time.
func (t *tenure) confirm(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at.After(t.sure) {
		t.sure = at
	}
}

// holds reports whether an epoch is the current one and the ownership has not ended. An engine that never acquired the shard has
// none.
func (t *tenure) holds(fence ledger.Fence) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fence == fence && !t.over()
}

// unlessOver calls begin and returns true, unless the ownership has ended.
func (t *tenure) unlessOver(begin func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over() {
		return false
	}
	begin()
	return true
}

// lose ends the ownership. An older epoch is ignored.
func (t *tenure) lose(fence ledger.Fence, held *atomic.Bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fence == fence && t.lost != nil && !t.over() {
		held.Store(true)
		close(t.lost)
	}
}

// unsure reports whether another engine may have taken the shard without this one having noticed.
func (t *tenure) unsure() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	// The monotonic clock does not advance while a machine is suspended.
	since := max(time.Since(t.sure), time.Now().Round(0).Sub(t.sure.Round(0)))
	return t.fence != ledger.Fence{} && (t.over() || since > unsureAfter)
}

// leftTo reports whether this engine handed over in this epoch a moment ago, so that the successor is about to take the shard.
func (t *tenure) leftTo(epoch int64, patience time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fence.Epoch == epoch && time.Since(t.left) < patience
}

// end releases the liveness lock. The epoch stays set: appends in flight must not be made without one.
func (t *tenure) end() error {
	t.mu.Lock()
	t.left = time.Now()
	t.mu.Unlock()
	return t.unattend()
}

// attended reports whether this engine has the liveness lock.
func (t *tenure) attended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.leave != nil
}

// unattend releases the liveness lock.
func (t *tenure) unattend() error {
	t.mu.Lock()
	leave := t.leave
	t.leave = nil
	t.mu.Unlock()
	if leave == nil {
		return nil
	}
	return leave()
}
