// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

const (
	leaseLabel  = "nestor.dev/lease" // member or shard
	memberLease = "member"
	shardLease  = "shard"

	memberPrefix = "nestor-replica-"
	shardPrefix  = "nestor-shard-"

	nameAnnotation        = "nestor.dev/replica"
	addressAnnotation     = "nestor.dev/address"
	fingerprintAnnotation = "nestor.dev/key-fingerprint"
	stateAnnotation       = "nestor.dev/state"
)

// shardsAnnotation is the number of shards that a member divides, for people: Leases of shards that a larger number had are not deleted.
const shardsAnnotation = "nestor.dev/shards"

// The states of a member, as it publishes them.
const (
	active    = "active"
	unhealthy = "unhealthy" // cannot reach the ledger
	stopping  = "stopping"  // hands over what it holds
)

// view is what this process saw of the Leases, with the time of each change by its own clock.
type view struct {
	self    string // identity of this replica
	timing  Timing
	synced  bool
	seen    time.Time              // when this replica last saw its own member Lease change, so the view was current
	members map[string]*memberView // by the name of the Lease
	shards  []shardView
}

type memberView struct {
	Member
	state   string
	lease   *coordinationv1.Lease
	changed time.Time // when the Lease was last seen to change
	since   time.Time // when the member was first seen; zero for those that were here before this replica
	stated  time.Time // when the state was first seen; zero if the member came with a state that excludes it
	swept   time.Time // when the Lease of a dead member was last deleted
}

type shardView struct {
	lease      *coordinationv1.Lease // nil: there is none
	holder     string                // of the Lease, also after it was deleted
	lastHolder string                // the last one that was not empty
	changed    time.Time
}

func newView(self string, shards int, timing Timing) *view {
	return &view{self: self, timing: timing, members: map[string]*memberView{}, shards: make([]shardView, shards)}
}

// replace records a complete list, and reports whether it says more than that holders renewed.
func (v *view) replace(leases []coordinationv1.Lease, now time.Time) bool {
	listed, news := map[string]bool{}, !v.synced
	for i := range leases {
		listed[leases[i].Name] = true
		news = v.observe(&leases[i], now) || news
	}
	for name := range v.members {
		news = !listed[name] && v.forget(name, now) || news
	}
	for shard := range v.shards {
		name := shardName(shard)
		news = !listed[name] && v.forget(name, now) || news
	}
	v.synced = true
	return news
}

// observe records one Lease, and reports whether it says more than that its holder renewed it.
func (v *view) observe(lease *coordinationv1.Lease, now time.Time) bool {
	if lease.Labels[leaseLabel] == memberLease {
		return v.observeMember(lease, now)
	}
	shard, ok := v.shardOf(lease.Name)
	if !ok {
		return false
	}
	s := &v.shards[shard]
	if s.lease != nil && s.lease.UID == lease.UID && s.lease.ResourceVersion == lease.ResourceVersion {
		return false
	}
	held := holder(lease)
	news := s.lease == nil || s.holder != held
	s.lease, s.holder, s.changed = lease, held, now
	if held != "" {
		s.lastHolder = held
	}
	return news
}

func (v *view) observeMember(lease *coordinationv1.Lease, now time.Time) bool {
	m := v.members[lease.Name]
	if m != nil && m.lease.UID == lease.UID && m.lease.ResourceVersion == lease.ResourceVersion {
		return false
	}
	saw := holder(lease) == v.self && v.blind(now)
	if holder(lease) == v.self {
		v.see(now)
	}
	next := &memberView{
		Member: Member{
			ID: holder(lease), Name: lease.Annotations[nameAnnotation],
			Address: lease.Annotations[addressAnnotation], Fingerprint: lease.Annotations[fingerprintAnnotation],
		},
		state: lease.Annotations[stateAnnotation], lease: lease, changed: now,
	}
	v.members[lease.Name] = next
	if m != nil && v.live(m, now) {
		next.since, next.stated = m.since, m.stated
		if m.state != next.state {
			next.stated = now
		}
		return saw || m.Member != next.Member || m.state != next.state
	}
	if v.synced {
		next.since = now
	}
	if next.state == active {
		next.stated = next.since
	}
	return true
}

// see ends a time in which this replica did not see its own renewals. It did not see those of others either, so they get the time to renew again.
func (v *view) see(now time.Time) {
	if v.blind(now) {
		for _, m := range v.liveMembers(now) {
			m.changed = now
		}
	}
	v.seen = now
}

// forget records that a Lease was deleted, and reports whether it was known.
func (v *view) forget(name string, now time.Time) bool {
	if m, ok := v.members[name]; ok {
		if m.ID != v.self { // this replica lives, and creates its Lease again
			delete(v.members, name)
		}
		return true
	}
	shard, ok := v.shardOf(name)
	if !ok || v.shards[shard].lease == nil {
		return false
	}
	v.shards[shard].lease, v.shards[shard].changed = nil, now
	return true
}

// blind reports whether the view may be outdated because this replica does not see its own renewals.
func (v *view) blind(now time.Time) bool {
	return !v.synced || now.Sub(v.seen) >= v.timing.LeaseDuration
}

// live reports whether a member renewed its Lease within LeaseDuration. While the view is blind, it is as before.
func (v *view) live(m *memberView, now time.Time) bool {
	if v.blind(now) {
		now = v.seen
	}
	return now.Sub(m.changed) < v.timing.LeaseDuration
}

func (v *view) settled(m *memberView, now time.Time) bool {
	return m.ID == v.self || now.Sub(m.since) >= v.timing.RetryPeriod
}

func (v *view) liveMembers(now time.Time) []*memberView {
	var live []*memberView
	for _, m := range v.members {
		if v.live(m, now) {
			live = append(live, m)
		}
	}
	slices.SortFunc(live, func(a, b *memberView) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(live, func(a, b *memberView) bool { return a.ID == b.ID })
}

// assignment returns the member that should own each shard, and the same without the members that were just seen for the first time. A shard is
// taken by the first and handed over when both agree.
func (v *view) assignment(now time.Time) (taking, giving []string) {
	live := v.liveMembers(now)
	old := slices.DeleteFunc(slices.Clone(live), func(m *memberView) bool { return !v.settled(m, now) })
	return assign(v.eligible(live, now), len(v.shards)), assign(v.eligible(old, now), len(v.shards))
}

// eligible returns the members that may own shards: those that are not stopping, without the unhealthy ones if there is a healthy one. Both must have
// been so for a while: when the ledger fails or returns, replicas notice it one after the other, and nothing should move.
func (v *view) eligible(members []*memberView, now time.Time) []string {
	var all, healthy []string
	move := false
	for _, m := range members {
		steady := now.Sub(m.stated) >= v.grace()
		if m.state == stopping {
			continue
		}
		all = append(all, m.ID)
		if m.state != unhealthy || !steady {
			healthy = append(healthy, m.ID)
		}
		move = move || m.state != unhealthy && steady
	}
	if move {
		return healthy
	}
	return all
}

// grace is how much later than another replica one may notice that the ledger fails or returns.
func (v *view) grace() time.Duration { return 2 * v.timing.RetryPeriod }

// availability is whether this replica may take a shard.
type availability int

const (
	held    availability = iota // held by another replica, until the time that comes with it
	free                        // has no holder
	mine                        // held by this replica
	expired                     // held by a replica that did not renew it in time
)

// available returns whether this replica may take a shard, and if not, when it may at the earliest.
func (v *view) available(shard int, now time.Time) (availability, time.Time) {
	s := v.shards[shard]
	switch {
	case s.holder == "", s.holder == v.self && s.lease == nil:
		return free, now
	case s.holder == v.self:
		return mine, now
	}
	until := s.changed.Add(duration(s.lease, v.timing))
	if now.Before(until) {
		return held, until
	}
	return expired, now
}

// nextChange returns when the passing of time alone changes the assignment.
func (v *view) nextChange(now time.Time) time.Time {
	next := now.Add(v.timing.LeaseDuration)
	for _, m := range v.members {
		for _, t := range []time.Time{m.changed.Add(v.timing.LeaseDuration), m.since.Add(v.timing.RetryPeriod), m.stated.Add(v.grace())} {
			if t.After(now) && t.Before(next) {
				next = t
			}
		}
	}
	return next
}

// dead returns a member that has been dead for long, and whose Lease was not deleted just now.
func (v *view) dead(now time.Time) *memberView {
	for _, m := range v.members {
		if now.Sub(m.changed) >= 10*v.timing.LeaseDuration && now.Sub(m.swept) >= v.timing.LeaseDuration {
			return m
		}
	}
	return nil
}

// duration returns after which time without a change a Lease is expired: as its holder wrote it, which stops before that.
func duration(lease *coordinationv1.Lease, timing Timing) time.Duration {
	if lease == nil || lease.Spec.LeaseDurationSeconds == nil || *lease.Spec.LeaseDurationSeconds <= 0 {
		return timing.LeaseDuration
	}
	return time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second
}

func holder(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func shardName(shard int) string { return fmt.Sprintf("%s%02d", shardPrefix, shard) }

func (v *view) shardOf(name string) (int, bool) {
	number, ok := strings.CutPrefix(name, shardPrefix)
	shard, err := strconv.Atoi(number)
	return shard, ok && err == nil && shard >= 0 && shard < len(v.shards) && name == shardName(shard)
}
