// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "sync"

// Dialects caches the dialect of each model of a provider: which variant of an API it supports, as learned from rejected
// requests. The zero value of a dialect should suit almost all models.
type Dialects[D comparable] struct {
	mu    sync.Mutex
	known map[string]D
}

// Find returns the dialect of a model.
func (d *Dialects[D]) Find(name string) D {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[name]
}

// Update records the dialect to use after a call in another one. It reports whether they differ, so that the call is
// worth another attempt.
func (d *Dialects[D]) Update(name string, used, next D) bool {
	if next == used {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = map[string]D{}
	}
	d.known[name] = next
	return true
}
