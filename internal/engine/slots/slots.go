// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package slots limits how many sub-agents are active at the same time.
package slots

import (
	"slices"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/share"
)

// Group is a group of sub-agents with a limit on how many are active at the same time, such as those of a chat. An
// agent may belong to several groups.
type Group struct {
	// Key identifies the group within the engine.
	Key string
	// Limit is the maximum of active members; 0 means no limit.
	Limit int
}

// OfChat returns the key of a chat's group, by the chat's UID.
func OfChat(root string) string { return "chat/" + root }

// OfNamespace returns the key of the group of all sub-agents of a namespace.
func OfNamespace(namespace string) string { return namespacePrefix + namespace }

const namespacePrefix = "namespace/"

// Slots tracks which sub-agents are active and grants free slots in the order of requests. An agent that waits for a
// person or its children has no slot, so parents never block their children.
type Slots struct {
	mu      sync.Mutex
	groups  map[string]*group
	members map[string]*member // by UID: active and waiting ones
	waiting []*member
	// notifier is notified of groups whose limit is divided among replicas; nil if there is one replica.
	notifier share.Notifier
}

// group has the number of active members and the latest limit.
type group struct {
	limit, active int
	// shared is the share of the limit that this replica may use; nil if the limit is not divided.
	shared *groupShare
}

// member is a sub-agent that is active or waits for a slot.
type member struct {
	owner  any
	groups []string
	active bool
	wake   func()
}

// New returns slots without members. The notifier may be nil.
func New(notifier share.Notifier) *Slots {
	return &Slots{notifier: notifier, groups: map[string]*group{}, members: map[string]*member{}}
}

// Acquire gives a sub-agent a slot if all of its groups have one free. If not, the agent waits in the queue, and wake
// is called once when it has its slot.
func (s *Slots) Acquire(owner any, uid string, groups []Group, wake func()) bool {
	acquired, wakes := s.join(owner, uid, groups, wake)
	for _, other := range wakes {
		other()
	}
	if !acquired {
		s.notifyShort(groups)
	}
	return acquired
}

func (s *Slots) join(owner any, uid string, groups []Group, wake func()) (acquired bool, wakes []func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.members[uid]
	if !ok {
		m = &member{owner: owner}
		s.members[uid] = m
		s.waiting = append(s.waiting, m)
	}
	for _, g := range groups {
		s.group(g.Key).limit = g.Limit
		if !ok {
			m.groups = append(m.groups, g.Key)
		}
	}
	m.wake = nil // the caller gets the answer from this call
	wakes = s.grantWaiting()
	if !m.active {
		m.wake = wake
	}
	return m.active, wakes
}

// grantWaiting grants slots to waiting agents, the longest waiting first, and returns the wake functions to call.
func (s *Slots) grantWaiting() []func() {
	var wakes []func()
	s.waiting = slices.DeleteFunc(s.waiting, func(m *member) bool {
		if slices.ContainsFunc(m.groups, func(key string) bool { return s.groups[key].full() }) {
			return false
		}
		m.active = true
		for _, key := range m.groups {
			s.groups[key].active++
		}
		if m.wake != nil {
			wakes = append(wakes, m.wake)
			m.wake = nil
		}
		return true
	})
	return wakes
}

// Release releases the slot of an agent, or removes it from the queue, and grants free slots to others.
func (s *Slots) Release(uid string) {
	wakes, freed := s.remove(uid)
	for _, wake := range wakes {
		wake()
	}
	s.notifyFreed(freed)
}

func (s *Slots) remove(uid string) (wakes []func(), freed []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.members[uid]
	if !ok {
		return nil, nil
	}
	delete(s.members, uid)
	s.waiting = slices.DeleteFunc(s.waiting, func(other *member) bool { return other == m })
	if m.active {
		for _, key := range m.groups {
			s.groups[key].active--
			if s.groups[key].owes() {
				freed = append(freed, key)
			}
		}
	}
	wakes = s.grantWaiting()
	for _, key := range m.groups {
		if s.groups[key].active == 0 && !s.groups[key].holdsShare() && !slices.ContainsFunc(s.waiting, func(other *member) bool { return slices.Contains(other.groups, key) }) {
			delete(s.groups, key)
		}
	}
	return wakes, freed
}

// SetLimit changes the limit of a group that has members and grants free slots.
func (s *Slots) SetLimit(key string, limit int) {
	s.mu.Lock()
	var wakes []func()
	if g, ok := s.groups[key]; ok {
		g.limit = limit
		wakes = s.grantWaiting()
	}
	s.mu.Unlock()
	for _, wake := range wakes {
		wake()
	}
}

// Count returns how many members of a group are active, and how many wait while it is full.
func (s *Slots) Count(key string) (active, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.groups[key]
	if !ok {
		return 0, 0
	}
	for _, m := range s.waiting {
		if g.full() && slices.Contains(m.groups, key) {
			waiting++
		}
	}
	return g.active, waiting
}

// WaitsFor reports whether an agent waits because a group is full.
func (s *Slots) WaitsFor(uid, key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.members[uid]
	return ok && !m.active && slices.Contains(m.groups, key) && s.groups[key].full()
}

// Waits reports whether an agent waits for a slot.
func (s *Slots) Waits(uid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.members[uid]
	return ok && !m.active
}

// Holds reports whether an agent has a slot.
func (s *Slots) Holds(uid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.members[uid]
	return ok && m.active
}

func (s *Slots) group(key string) *group {
	g, ok := s.groups[key]
	if !ok {
		g = s.newGroup(key)
		s.groups[key] = g
	}
	return g
}

func (g *group) full() bool {
	return g.limit > 0 && (g.active >= g.limit || g.shared != nil && g.active >= g.shared.usable(time.Now()))
}

// ReleaseAll releases the slots of all agents of an engine, and grants them to the agents of others.
func (s *Slots) ReleaseAll(owner any) {
	s.mu.Lock()
	var uids []string
	for uid, m := range s.members {
		if m.owner == owner {
			uids = append(uids, uid)
		}
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(m *member) bool { return m.owner == owner }) // the others must not wake them
	s.mu.Unlock()
	for _, uid := range uids {
		s.Release(uid)
	}
}
