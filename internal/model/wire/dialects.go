// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"sync"

	"github.com/nestor-dev/nestor/internal/model"
)

// Dialects caches the dialect of each model of a provider: which variant of an API it supports, as learned from rejected
// requests. The zero value of a dialect should suit almost all models.
type Dialects[D comparable] struct {
	mu    sync.Mutex
	known map[string]D
}

// Try makes a call in the dialect that is known for a name, and again in another one as long as after returns another one for
// the error. after also returns the part of that dialect that is remembered for later calls.
func (d *Dialects[D]) Try(name string, attempt func(D) (model.Reply, error), after func(used D, err error) (next, lasting D)) (model.Reply, error) {
	used := d.find(name)
	for {
		reply, err := attempt(used)
		if err == nil {
			return reply, nil
		}
		next, lasting := after(used, err)
		if next == used {
			return model.Reply{}, err
		}
		d.remember(name, lasting)
		used = next
	}
}

func (d *Dialects[D]) find(name string) D {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[name]
}

func (d *Dialects[D]) remember(name string, learned D) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = map[string]D{}
	}
	d.known[name] = learned
}
