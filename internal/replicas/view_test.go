// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// seen is a view of two members at a time that a test moves.
type seen struct {
	*view
	now     time.Time
	version int
}

func newSeen(shards int) *seen {
	s := &seen{view: newView("a", shards, short), now: time.Unix(1000, 0)}
	s.replace([]coordinationv1.Lease{*s.member("a", active), *s.member("b", active)}, s.now)
	return s
}

func (s *seen) member(id, state string) *coordinationv1.Lease {
	lease := s.lease(memberPrefix+id, id)
	lease.Labels[leaseLabel] = memberLease
	lease.Annotations = map[string]string{stateAnnotation: state}
	return lease
}

func (s *seen) lease(name, holder string) *coordinationv1.Lease {
	s.version++
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: string(rune('0' + s.version)), Labels: map[string]string{leaseLabel: shardLease}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder},
	}
}

func (s *seen) expectLive(t *testing.T, want string) {
	t.Helper()
	var ids []string
	for _, m := range s.liveMembers(s.now) {
		ids = append(ids, m.ID)
	}
	if got := strings.Join(ids, " "); got != want {
		t.Errorf("live members: %s, want %s", got, want)
	}
}

func (s *seen) expect(t *testing.T, shard int, want availability) {
	t.Helper()
	if got, _ := s.available(shard, s.now); got != want {
		t.Errorf("shard %d is %d, want %d", shard, got, want)
	}
}

func TestAMemberLivesForALeaseDuration(t *testing.T) {
	s := newSeen(1)
	s.now = s.now.Add(short.LeaseDuration - 1)
	s.observe(s.member("a", active), s.now)
	s.expectLive(t, "a b")
	s.now = s.now.Add(1)
	s.expectLive(t, "a")
	s.observe(s.member("b", active), s.now)
	s.expectLive(t, "a b")
	if s.settled(s.members[memberPrefix+"b"], s.now) {
		t.Error("a member that came back counts as one that was always here")
	}
}

func TestAViewThatIsBlindKeepsItsMembers(t *testing.T) {
	s := newSeen(1)
	s.observe(s.member("dead", active), s.now.Add(-short.LeaseDuration))
	s.now = s.now.Add(time.Hour)
	if !s.blind(s.now) {
		t.Fatal("not blind")
	}
	s.expectLive(t, "a b")
	if !s.observe(s.member("a", active), s.now) {
		t.Error("the coordinator must learn that the view is current again")
	}
	s.now = s.now.Add(short.LeaseDuration - 1)
	s.expectLive(t, "a b")
	s.observe(s.member("a", active), s.now)
	s.now = s.now.Add(1)
	s.expectLive(t, "a")
}

func TestADeletedLeaseCountsAsHeld(t *testing.T) {
	s := newSeen(2)
	s.observe(s.lease(shardName(0), "b"), s.now)
	s.observe(s.lease(shardName(1), ""), s.now)
	for _, name := range []string{shardName(0), shardName(1)} {
		if !s.forget(name, s.now) || s.forget(name, s.now) {
			t.Errorf("%s: only the first deletion is news", name)
		}
	}
	s.now = s.now.Add(short.LeaseDuration - 1)
	s.expect(t, 0, held)
	s.expect(t, 1, free)
	s.now = s.now.Add(1)
	s.expect(t, 0, expired)
}

func TestALeaseExpiresAfterItsOwnDuration(t *testing.T) {
	s := newSeen(1)
	lease, seconds := s.lease(shardName(0), "b"), int32(5)
	lease.Spec.LeaseDurationSeconds = &seconds
	s.observe(lease, s.now)
	s.now = s.now.Add(5*time.Second - 1)
	if s.observe(lease.DeepCopy(), s.now) {
		t.Error("the same version is no news")
	}
	s.expect(t, 0, held)
	s.now = s.now.Add(1)
	s.expect(t, 0, expired)
}

func TestOtherLeasesAreNoShards(t *testing.T) {
	v := newView("a", 10, short)
	for _, name := range []string{"nestor-shard-0", "nestor-shard-10", "nestor-shard--1", "nestor-shard-", "00", "nestor-shard-+1"} {
		if shard, ok := v.shardOf(name); ok {
			t.Errorf("%s is shard %d", name, shard)
		}
	}
	if shard, ok := v.shardOf(shardName(9)); !ok || shard != 9 {
		t.Error(shard, ok)
	}
}

func TestNamesOfMemberLeasesAreValid(t *testing.T) {
	for _, name := range []string{"nestor-operator-0", "Host.Example_1", "", strings.Repeat("ü", 300)} {
		if problems := validation.IsDNS1123Subdomain(memberName(name, "ABC")); len(problems) > 0 {
			t.Errorf("%q: %v", name, problems)
		}
	}
}
