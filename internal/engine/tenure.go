// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// tenure is the right of an engine to append.
type tenure struct {
	mu    sync.Mutex
	fence ledger.Fence
	// leave ends what tells others that this process lives; nil while nothing does.
	leave func() error
	// sure is when the shard was last known to be this engine's.
	sure time.Time
	// left is when the shard was handed over, if it was.
	left time.Time
	// lost is closed when the tenure is over; nil before the first one.
	lost chan struct{}
}

// over says whether another engine has the shard, or is about to. The lock is held.
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

// confirm notes that the shard was this engine's at a time.
func (t *tenure) confirm(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at.After(t.sure) {
		t.sure = at
	}
}

// holds says whether an epoch is the one of this tenure, and it is not over. An engine that never acquired the shard has none.
func (t *tenure) holds(fence ledger.Fence) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fence == fence && !t.over()
}

// unlessOver calls begin and says so, unless the tenure is over.
func (t *tenure) unlessOver(begin func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over() {
		return false
	}
	begin()
	return true
}

// lose notes that the shard is another engine's. An epoch before the current one tells nothing new.
func (t *tenure) lose(fence ledger.Fence, held *atomic.Bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fence == fence && t.lost != nil && !t.over() {
		held.Store(true)
		close(t.lost)
	}
}

// unsure says whether the shard may have become another engine's without this one having noticed.
func (t *tenure) unsure() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	// The monotonic clock stands still while a machine is suspended.
	since := max(time.Since(t.sure), time.Now().Round(0).Sub(t.sure.Round(0)))
	return t.fence != ledger.Fence{} && (t.over() || since > unsureAfter)
}

// leftTo says whether an epoch is the one in which this engine has handed over a moment ago: the successor is about to take the shard.
func (t *tenure) leftTo(epoch int64, patience time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fence.Epoch == epoch && time.Since(t.left) < patience
}

// end tells others no longer that this process lives. The epoch stays what it was: what is still on its way to the ledger must not go
// there without one.
func (t *tenure) end() error {
	t.mu.Lock()
	t.left = time.Now()
	t.mu.Unlock()
	return t.unattend()
}

// attended says whether something tells others that this process lives.
func (t *tenure) attended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.leave != nil
}

// unattend ends what tells others that this process lives.
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
