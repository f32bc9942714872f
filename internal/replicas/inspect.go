// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

const LeaseLabel = leaseLabel

// Installation is what the Leases say about the replicas of an installation, for people.
type Installation struct {
	// Replicas are sorted by name.
	Replicas []ReplicaStatus
	// Shards is the number of shards, and Unowned are those without an owner.
	Shards  int
	Unowned []int
}

type ReplicaStatus struct {
	Name string
	Held int
	// Stale reports that it does not renew its member Lease, for which it was Silent.
	Stale  bool
	Silent time.Duration
	// Unhealthy reports that it cannot reach the ledger, Stopping that it hands over its shards.
	Unhealthy, Stopping bool
}

// Live counts the replicas that renew their Leases.
func (i Installation) Live() int {
	live := 0
	for _, r := range i.Replicas {
		if !r.Stale {
			live++
		}
	}
	return live
}

// Uneven reports whether a live replica that is neither stopping nor unhealthy holds at least two shards more than another one.
func (i Installation) Uneven() bool {
	var counts []int
	for _, r := range i.Replicas {
		if !r.Stale && !r.Stopping && !r.Unhealthy {
			counts = append(counts, r.Held)
		}
	}
	return len(counts) > 1 && slices.Max(counts)-slices.Min(counts) > 1
}

// Inspect describes an installation from all its Leases at one moment. It compares now with the clocks of the replicas, which this package does not
// do otherwise, so a Lease is stale only after twice its duration.
func Inspect(leases []coordinationv1.Lease, now time.Time) Installation {
	var found Installation
	held, lastShard := map[string]int{}, -1
	owned := map[int]bool{}
	for i := range leases {
		lease := &leases[i]
		if lease.Labels[leaseLabel] == memberLease {
			found.addMember(lease, now)
			continue
		}
		number, ok := strings.CutPrefix(lease.Name, shardPrefix)
		shard, err := strconv.Atoi(number)
		if !ok || err != nil {
			continue
		}
		lastShard = max(lastShard, shard)
		// Between two holders a Lease is free for a moment.
		owned[shard] = silence(lease, now) <= staleAfter(lease)
		if owner := holder(lease); owner != "" && owned[shard] {
			held[owner]++
		}
	}
	if found.Shards == 0 {
		found.Shards = lastShard + 1
	}
	for shard := range found.Shards {
		if !owned[shard] {
			found.Unowned = append(found.Unowned, shard)
		}
	}
	for i := range found.Replicas {
		r := &found.Replicas[i]
		r.Held, r.Name = held[r.Name], displayName(r.Name)
	}
	slices.SortFunc(found.Replicas, func(a, b ReplicaStatus) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

// addMember adds the replica of a member Lease, by its identity.
func (i *Installation) addMember(lease *coordinationv1.Lease, now time.Time) {
	r := ReplicaStatus{Name: holder(lease), Silent: silence(lease, now)}
	r.Stale = r.Silent > staleAfter(lease)
	r.Unhealthy, r.Stopping = lease.Annotations[stateAnnotation] == unhealthy, lease.Annotations[stateAnnotation] == stopping
	i.Replicas = append(i.Replicas, r)
	if shards, err := strconv.Atoi(lease.Annotations[shardsAnnotation]); err == nil && !r.Stale {
		i.Shards = max(i.Shards, shards)
	}
}

// displayName removes the suffix of an identity that is unique to the process.
func displayName(identity string) string {
	name, _, _ := strings.Cut(identity, "_")
	return name
}

func silence(lease *coordinationv1.Lease, now time.Time) time.Duration {
	if lease.Spec.RenewTime == nil {
		return now.Sub(lease.CreationTimestamp.Time)
	}
	return now.Sub(lease.Spec.RenewTime.Time)
}

// staleAfter returns how long after its last renewal a Lease is stale. A Lease that was released has a duration of a second.
func staleAfter(lease *coordinationv1.Lease) time.Duration {
	return 2 * max(duration(lease, Timing{LeaseDuration: 8 * time.Second}), 5*time.Second)
}
