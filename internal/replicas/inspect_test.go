// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var inspected = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

func leaseOf(name, kind, holder string, seconds int32, silent time.Duration) coordinationv1.Lease {
	renewed := metav1.NewMicroTime(inspected.Add(-silent))
	return coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{leaseLabel: kind}, Annotations: map[string]string{}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
	}
}

func memberOf(name, state string, shards int, silent time.Duration) coordinationv1.Lease {
	lease := leaseOf(memberPrefix+name, memberLease, name+"_x", 8, silent)
	lease.Annotations[stateAnnotation], lease.Annotations[shardsAnnotation] = state, strconv.Itoa(shards)
	return lease
}

func TestInspect(t *testing.T) {
	found := Inspect([]coordinationv1.Lease{
		memberOf("b", active, 6, time.Second),
		memberOf("a", unhealthy, 6, 3*time.Second),
		memberOf("c", stopping, 6, time.Second),
		memberOf("dead", active, 9, time.Minute),                         // its number of shards does not count
		leaseOf("nestor-shard-00", shardLease, "a_x", 8, 15*time.Second), // late, but perhaps its clock is
		leaseOf("nestor-shard-01", shardLease, "a_x", 8, time.Second),
		leaseOf("nestor-shard-02", shardLease, "b_x", 8, 17*time.Second), // expired
		leaseOf("nestor-shard-03", shardLease, "", 1, time.Second),       // handed over now
		leaseOf("nestor-shard-04", shardLease, "", 1, time.Minute),       // free for long
		leaseOf("nestor-shard-07", shardLease, "", 1, time.Hour),         // of a larger number of shards
		leaseOf("nestor-shard-x", shardLease, "b_x", 8, time.Second),
	}, inspected)
	want := Installation{
		Replicas: []ReplicaStatus{
			{Name: "a", Held: 2, Silent: 3 * time.Second, Unhealthy: true},
			{Name: "b", Silent: time.Second},
			{Name: "c", Silent: time.Second, Stopping: true},
			{Name: "dead", Stale: true, Silent: time.Minute},
		},
		Shards: 6, Unowned: []int{2, 4, 5},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("-want +found:\n%s", diff)
	}
	if found.Live() != 3 {
		t.Errorf("%d replicas are live, want 3", found.Live())
	}
}

func TestInspectUneven(t *testing.T) {
	held := func(counts ...int) Installation {
		var i Installation
		for _, n := range counts {
			i.Replicas = append(i.Replicas, ReplicaStatus{Held: n})
		}
		return i
	}
	stopping := held(10, 10, 0)
	stopping.Replicas[2].Stopping = true
	for name, c := range map[string]struct {
		of   Installation
		want bool
	}{
		"nobody": {held(), false}, "one": {held(32), false}, "even": {held(11, 11, 10), false}, "uneven": {held(12, 10, 10), true}, "stopping": {stopping, false},
	} {
		if got := c.of.Uneven(); got != c.want {
			t.Errorf("%s: uneven is %t", name, got)
		}
	}
}

// A real replica describes itself so that Inspect finds its shards.
func TestInspectFindsWhatAReplicaWrites(t *testing.T) {
	r := New(Options{Name: "pod-1", Shards: 12})
	lease := r.newLease(r.lease, memberLease)
	r.describe(lease, active)
	shard := leaseOf(shardName(3), shardLease, r.self.ID, 8, 0)
	now := metav1.NowMicro()
	shard.Spec.RenewTime = &now
	found := Inspect([]coordinationv1.Lease{*lease, shard}, time.Now())
	if len(found.Replicas) != 1 || found.Replicas[0].Name != "pod-1" || found.Replicas[0].Held != 1 || found.Shards != 12 || len(found.Unowned) != 11 {
		t.Errorf("found %+v", found)
	}
}
