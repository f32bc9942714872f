// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"slices"
	"sync"

	"github.com/nestor-dev/nestor/internal/agent"
)

// maxPlaces is the number of cached positions. A state is at most about as large as a model's context, and the states
// of one agent share memory.
const maxPlaces = 64

// place is the state of an agent after an event.
type place struct {
	seq   int64
	state agent.State
}

// places caches the positions where readers stopped, most recently used last.
type places struct {
	mu   sync.Mutex
	kept []keptPlace
}

type keptPlace struct {
	uid string
	place
}

// before returns the cached position of an agent that is nearest to an event and not after it, or the start.
func (p *places) before(uid string, seq int64) place {
	p.mu.Lock()
	defer p.mu.Unlock()
	best := -1
	for i, k := range p.kept {
		if k.uid == uid && k.seq <= seq && (best < 0 || k.seq > p.kept[best].seq) {
			best = i
		}
	}
	if best < 0 {
		return place{}
	}
	found := p.kept[best]
	p.kept = append(slices.Delete(p.kept, best, best+1), found)
	return found.place
}

// keep caches a position and evicts the least recently used one.
func (p *places) keep(uid string, at place) {
	if at.seq == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = slices.DeleteFunc(p.kept, func(k keptPlace) bool { return k.uid == uid && k.seq == at.seq })
	p.kept = append(p.kept, keptPlace{uid: uid, place: at})
	if extra := len(p.kept) - maxPlaces; extra > 0 {
		p.kept = slices.Delete(p.kept, 0, extra)
	}
}
