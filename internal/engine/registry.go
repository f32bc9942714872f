// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// registry holds the actors in memory, at most one for each agent. The zero value is empty. It is safe for concurrent
// use.
type registry struct {
	mu     sync.Mutex
	actors map[string]*actor
	closed bool
}

// get returns the actor of an agent, creating it on first use. It fails with ErrClosed after close.
func (r *registry) get(uid string, create func() *actor) (*actor, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	a, ok := r.actors[uid]
	if !ok {
		if r.actors == nil {
			r.actors = map[string]*actor{}
		}
		a = create()
		r.actors[uid] = a
	}
	return a, nil
}

// find returns the actor of an agent, or nil if it is not in memory.
func (r *registry) find(uid string) *actor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.actors[uid]
}

func (r *registry) all() []*actor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.actors))
}

// remove removes the actor of an agent and returns it, or nil.
func (r *registry) remove(uid string) *actor {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.actors[uid]
	delete(r.actors, uid)
	return a
}

func (r *registry) removeAll() []*actor {
	r.mu.Lock()
	defer r.mu.Unlock()
	removed := slices.Collect(maps.Values(r.actors))
	clear(r.actors)
	return removed
}

// removeIdle removes the actors that have been idle since a time, and returns their number. A concurrent delivery gets
// a new actor.
func (r *registry) removeIdle(since time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	removed := 0
	for uid, a := range r.actors {
		if a.retire(since) {
			delete(r.actors, uid)
			removed++
		}
	}
	return removed
}

// close makes get fail. The actors stay.
func (r *registry) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

func (r *registry) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}
