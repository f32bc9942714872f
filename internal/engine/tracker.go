// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "sync"

// tracker counts operations in progress. The zero value counts none.
type tracker struct {
	mu    sync.Mutex
	count int
}

// begin counts an operation until end is called.
func (t *tracker) begin() (end func()) {
	t.mu.Lock()
	t.count++
	t.mu.Unlock()
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.count--
	})
}

// busy reports whether an operation is in progress.
func (t *tracker) busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count > 0
}
