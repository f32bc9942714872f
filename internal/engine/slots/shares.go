// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package slots

import (
	"slices"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/internal/share"
)

// The slots of a namespace (AgentQuota.spec.maxActiveAgents) are limited for the whole installation. Replicas divide
// the limit with package share: slots are its source for the resources active/NAMESPACE. The slots of a chat need no
// shares, because a tree is in one replica.

// groupShare is the share of a group's limit that this replica may use.
type groupShare struct {
	amount int64
	since  time.Time
}

// usable returns how many members may be active now.
func (g *groupShare) usable(now time.Time) int {
	if share.Expired(g.since, now) {
		return 0
	}
	return int(g.amount)
}

// owes reports whether the group had more active members than its share, so that others wait for what it releases.
func (g *group) owes() bool {
	return g.limit > 0 && g.shared != nil && int64(g.active) >= g.shared.amount
}

func (g *group) holdsShare() bool { return g.limit > 0 && g.shared != nil && g.shared.amount > 0 }

const activeResources = "active/"

// slotResource returns the resource of a group, if its limit is divided among replicas.
func slotResource(key string) (string, bool) {
	namespace, ok := strings.CutPrefix(key, namespacePrefix)
	return activeResources + namespace, ok
}

func resourceSlots(resource string) string {
	return OfNamespace(strings.TrimPrefix(resource, activeResources))
}

// newGroup returns a group without members.
func (s *Slots) newGroup(key string) *group {
	g := &group{}
	if _, divided := slotResource(key); divided && s.notifier != nil {
		g.shared = &groupShare{}
	}
	return g
}

// notifyShort requests larger shares of the groups that an agent waits for.
func (s *Slots) notifyShort(groups []Group) {
	for _, g := range groups {
		if resource, divided := slotResource(g.Key); divided && g.Limit > 0 && s.notifier != nil {
			s.notifier.Short(resource)
		}
	}
}

// notifyFreed reports that other replicas may have what was released.
func (s *Slots) notifyFreed(keys []string) {
	for _, key := range keys {
		if resource, divided := slotResource(key); divided && s.notifier != nil {
			s.notifier.Freed(resource)
		}
	}
}

// Demands implements share.Source.
func (s *Slots) Demands() []share.Demand {
	s.mu.Lock()
	defer s.mu.Unlock()
	var demands []share.Demand
	for key, g := range s.groups {
		resource, divided := slotResource(key)
		if !divided || g.limit == 0 {
			continue
		}
		waiting := 0
		for _, m := range s.waiting {
			if slices.Contains(m.groups, key) {
				waiting++
			}
		}
		demand := share.Demand{Resource: resource, Limit: int64(g.limit), Used: int64(g.active)}
		if need := g.active + waiting; need > 0 {
			demand.Needs = map[string]share.Need{strings.TrimPrefix(resource, activeResources): {Amount: int64(need), Weight: int64(need)}}
		}
		demands = append(demands, demand)
	}
	return demands
}

// Lower implements share.Source.
func (s *Slots) Lower(resource string, amount int64) (used int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.groups[resourceSlots(resource)]
	if !ok {
		return 0
	}
	if g.shared != nil {
		g.shared.amount = min(g.shared.amount, amount)
	}
	return int64(g.active)
}

// Apply implements share.Source.
func (s *Slots) Apply(shares []share.Share) {
	s.mu.Lock()
	for _, held := range shares {
		key := resourceSlots(held.Resource)
		g, ok := s.groups[key]
		switch {
		case !ok || g.shared == nil:
		case held.Amount == 0 && g.active == 0 && !slices.ContainsFunc(s.waiting, func(m *member) bool { return slices.Contains(m.groups, key) }):
			delete(s.groups, key) // the share was returned
		default:
			*g.shared = groupShare{amount: held.Amount, since: held.Since}
		}
	}
	wakes := s.grantWaiting()
	s.mu.Unlock()
	for _, wake := range wakes {
		wake()
	}
}
