// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"sync"
)

// Crew is a group of sub-agents of which only so many may be at work at a time: those of a chat, for example. An agent may belong
// to several.
type Crew struct {
	// Key names the group among all groups of the engine.
	Key string
	// Limit is how many of them may be at work; 0 is any number.
	Limit int
}

// slots knows which sub-agents are at work, and lets others go on in the order in which they asked. An agent that waits for a
// person or for its children holds no slot, so parents never block their children.
type slots struct {
	mu      sync.Mutex
	crews   map[string]*crew
	members map[string]*member // by UID: those at work and those in the line
	line    []*member
}

// crew is the number of its members at work, and the limit as it was last told.
type crew struct{ limit, active int }

// member is a sub-agent that is at work, or waits for a slot.
type member struct {
	crews  []string
	active bool
	wake   func()
}

func newSlots() *slots {
	return &slots{crews: map[string]*crew{}, members: map[string]*member{}}
}

// take gives a sub-agent a slot if all of its crews have room for it. If not, the agent waits in the line, and wake is called
// once when it has its slot.
func (s *slots) take(uid string, crews []Crew, wake func()) bool {
	taken, wakes := s.join(uid, crews, wake)
	for _, other := range wakes {
		other()
	}
	return taken
}

func (s *slots) join(uid string, crews []Crew, wake func()) (taken bool, wakes []func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, known := s.members[uid]
	if !known {
		m = &member{}
		s.members[uid] = m
		s.line = append(s.line, m)
	}
	for _, c := range crews {
		s.crew(c.Key).limit = c.Limit
		if !known {
			m.crews = append(m.crews, c.Key)
		}
	}
	m.wake = nil // it has its answer from this call
	wakes = s.admit()
	if !m.active {
		m.wake = wake
	}
	return m.active, wakes
}

// admit gives slots to those in the line who can have one, the longest waiting first, and returns whom to wake.
func (s *slots) admit() []func() {
	var wakes []func()
	s.line = slices.DeleteFunc(s.line, func(m *member) bool {
		if slices.ContainsFunc(m.crews, func(key string) bool { return s.crews[key].full() }) {
			return false
		}
		m.active = true
		for _, key := range m.crews {
			s.crews[key].active++
		}
		if m.wake != nil {
			wakes = append(wakes, m.wake)
			m.wake = nil
		}
		return true
	})
	return wakes
}

// forget frees the slot of an agent, or takes it out of the line, and lets others go on.
func (s *slots) forget(uid string) {
	for _, wake := range s.leave(uid) {
		wake()
	}
}

func (s *slots) leave(uid string) []func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.members[uid]
	if !ok {
		return nil
	}
	delete(s.members, uid)
	s.line = slices.DeleteFunc(s.line, func(other *member) bool { return other == m })
	if m.active {
		for _, key := range m.crews {
			s.crews[key].active--
		}
	}
	wakes := s.admit()
	for _, key := range m.crews {
		if s.crews[key].active == 0 && !slices.ContainsFunc(s.line, func(other *member) bool { return slices.Contains(other.crews, key) }) {
			delete(s.crews, key)
		}
	}
	return wakes
}

// setLimit changes the limit of a crew, if it has members, and lets those go on that have room now.
func (s *slots) setLimit(key string, limit int) {
	s.mu.Lock()
	var wakes []func()
	if c, ok := s.crews[key]; ok {
		c.limit = limit
		wakes = s.admit()
	}
	s.mu.Unlock()
	for _, wake := range wakes {
		wake()
	}
}

// count says how many members of a crew are at work, and how many wait in the line while it is full.
func (s *slots) count(key string) (active, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.crews[key]
	if !ok {
		return 0, 0
	}
	for _, m := range s.line {
		if c.full() && slices.Contains(m.crews, key) {
			waiting++
		}
	}
	return c.active, waiting
}

// waitsFor says whether an agent is in the line because a crew is full.
func (s *slots) waitsFor(uid, key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.members[uid]
	return ok && !m.active && slices.Contains(m.crews, key) && s.crews[key].full()
}

// waits says whether an agent is in the line.
func (s *slots) waits(uid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.members[uid]
	return ok && !m.active
}

// holds says whether an agent has a slot.
func (s *slots) holds(uid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.members[uid]
	return ok && m.active
}

func (s *slots) crew(key string) *crew {
	c, ok := s.crews[key]
	if !ok {
		c = &crew{}
		s.crews[key] = c
	}
	return c
}

func (c *crew) full() bool { return c.limit > 0 && c.active >= c.limit }

// reset forgets every sub-agent.
func (s *slots) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crews, s.members, s.line = map[string]*crew{}, map[string]*member{}, nil
}
