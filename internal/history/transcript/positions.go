// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"slices"
	"sync"

	"github.com/nestor-dev/nestor/internal/agent"
)

// maxCachedPositions is the number of cached positions. A state is at most about as large as a model's context, and the states
// of one agent share memory.
const maxCachedPositions = 64

// position is the state of an agent after an event.
type position struct {
	seq   int64
	state agent.State
}

// positionCache caches the positions where readers stopped, most recently used last.
type positionCache struct {
	mu      sync.Mutex
	entries []cachedPosition
}

type cachedPosition struct {
	uid string
	position
}

// before returns the cached position of an agent that is nearest to an event and not after it, or the start.
func (p *positionCache) before(uid string, seq int64) position {
	p.mu.Lock()
	defer p.mu.Unlock()
	best := -1
	for i, k := range p.entries {
		if k.uid == uid && k.seq <= seq && (best < 0 || k.seq > p.entries[best].seq) {
			best = i
		}
	}
	if best < 0 {
		return position{}
	}
	entry := p.entries[best]
	p.entries = append(slices.Delete(p.entries, best, best+1), entry)
	return entry.position
}

// add caches a position and evicts the least recently used one.
func (p *positionCache) add(uid string, at position) {
	if at.seq == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entries = slices.DeleteFunc(p.entries, func(k cachedPosition) bool { return k.uid == uid && k.seq == at.seq })
	p.entries = append(p.entries, cachedPosition{uid: uid, position: at})
	if extra := len(p.entries) - maxCachedPositions; extra > 0 {
		p.entries = slices.Delete(p.entries, 0, extra)
	}
}
