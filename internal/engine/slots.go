// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"sync"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// slots knows which sub-agents of each tree are at work, and lets others begin in the order in which they came.
type slots struct {
	mu    sync.Mutex
	trees map[string]*crew // by the UID at the top
	roots map[string]string
}

// crew is the sub-agents of one tree.
type crew struct {
	limit   int
	active  map[string]bool
	waiting []candidate
}

// candidate is a sub-agent that may not begin yet.
type candidate struct {
	uid  string
	wake func()
}

func newSlots() *slots {
	return &slots{trees: map[string]*crew{}, roots: map[string]string{}}
}

// take gives a sub-agent a slot, unless the others of its tree, or those that came before it, have all of them.
func (s *slots) take(root, uid string, limit int, wake func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.crew(root)
	c.limit = limit
	place := slices.IndexFunc(c.waiting, func(w candidate) bool { return w.uid == uid })
	ahead := place
	if place < 0 {
		ahead = len(c.waiting)
	}
	if c.active[uid] || len(c.active)+ahead < limit {
		if place >= 0 {
			c.waiting = slices.Delete(c.waiting, place, place+1)
		}
		c.active[uid] = true
		s.roots[uid] = root
		return true
	}
	if place < 0 {
		c.waiting = append(c.waiting, candidate{uid, wake})
		s.roots[uid] = root
	}
	return false
}

// set brings the slot of an agent up to its state. One that goes on after a wait takes its slot back without asking: it would
// be wrong to let a parent starve because its place was given away meanwhile.
func (s *slots) set(record ledger.Agent, state agent.State) {
	if state.Config.Kind != agent.SubAgent {
		return
	}
	if state.Standing() != agent.StandingActive {
		s.forget(record.UID)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crew(record.Root).active[record.UID] = true
	s.roots[record.UID] = record.Root
}

// forget frees the slot of an agent, or takes it out of the line, and wakes who comes next.
func (s *slots) forget(uid string) {
	for _, wake := range s.leave(uid) {
		wake()
	}
}

func (s *slots) leave(uid string) []func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	root, ok := s.roots[uid]
	if !ok {
		return nil
	}
	delete(s.roots, uid)
	c := s.trees[root]
	delete(c.active, uid)
	c.waiting = slices.DeleteFunc(c.waiting, func(w candidate) bool { return w.uid == uid })
	if len(c.active) == 0 && len(c.waiting) == 0 {
		delete(s.trees, root)
		return nil
	}
	free := min(c.limit-len(c.active), len(c.waiting))
	var wakes []func()
	for _, w := range c.waiting[:max(free, 0)] {
		wakes = append(wakes, w.wake)
	}
	return wakes
}

func (s *slots) crew(root string) *crew {
	c, ok := s.trees[root]
	if !ok {
		c = &crew{active: map[string]bool{}}
		s.trees[root] = c
	}
	return c
}
