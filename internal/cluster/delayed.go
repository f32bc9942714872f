// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"sync"
	"time"
)

// Delayed retries runs that wait for something that is not watched: a directory, a file, or a claim, because watching
// all claims of a cluster costs too much.
type Delayed struct {
	// Retry retries the pending runs of a namespace; nil retries nothing.
	Retry func(namespace string)
	// Interval is how long to wait before that.
	Interval time.Duration

	mu      sync.Mutex
	pending map[string]bool
}

// Add retries the runs of a namespace after the interval, once for all that wait in it.
func (d *Delayed) Add(namespace string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Retry == nil || d.pending[namespace] {
		return
	}
	if d.pending == nil {
		d.pending = map[string]bool{}
	}
	d.pending[namespace] = true
	time.AfterFunc(d.Interval, func() {
		d.mu.Lock()
		delete(d.pending, namespace)
		d.mu.Unlock()
		d.Retry(namespace)
	})
}
