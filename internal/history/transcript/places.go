// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"slices"
	"sync"

	"github.com/nestor-dev/nestor/internal/agent"
)

// maxPlaces is how many places are remembered. A state is about as large as the context of a model at most, and those of one
// agent share what they have in common.
const maxPlaces = 64

// place is the state of an agent after an event.
type place struct {
	seq   int64
	state agent.State
}

// places remembers where readers have stopped, the latest used last.
type places struct {
	mu   sync.Mutex
	kept []keptPlace
}

type keptPlace struct {
	uid string
	place
}

// before returns the place of an agent that is the nearest to an event and not behind it; the beginning, if no other is known.
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

// keep remembers a place and forgets the one that has not been used for longest.
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
