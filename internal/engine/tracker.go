// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"
)

// tracker counts operations in progress and waits for their end. The zero value counts none.
type tracker struct {
	mu    sync.Mutex
	count int
	none  chan struct{} // closed when the count is 0; nil unless somebody waits
}

// begin counts an operation until end is called.
func (t *tracker) begin() (end func()) {
	t.mu.Lock()
	t.count++
	t.mu.Unlock()
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.count--; t.count == 0 && t.none != nil {
			close(t.none)
			t.none = nil
		}
	})
}

// wait waits until no operation is in progress, or ctx ends.
func (t *tracker) wait(ctx context.Context) {
	t.mu.Lock()
	if t.count == 0 {
		t.mu.Unlock()
		return
	}
	if t.none == nil {
		t.none = make(chan struct{})
	}
	none := t.none
	t.mu.Unlock()
	select {
	case <-none:
	case <-ctx.Done():
	}
}
