// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
)

// assign returns the member that should own each shard: rendezvous hashing with exact balance. Every member gets
// shards/members shards, rounded up or down. The result does not depend on the order of members.
//
// The pairs of a member and a shard are taken in the order of their scores, as long as the member has room. The score
// of a pair does not depend on other members, so few shards move between members that stay. It depends only on the
// name before the first "_", so a process that is started again gets the same shards.
func assign(members []string, shards int) []string {
	assigned := make([]string, shards)
	if len(members) == 0 {
		return assigned
	}
	floor, above := shards/len(members), shards%len(members)
	count := make(map[string]int, len(members))
	for _, p := range pairs(members, shards) {
		if assigned[p.shard] != "" || count[p.member] > floor || count[p.member] == floor && above == 0 {
			continue
		}
		if count[p.member] == floor {
			above--
		}
		count[p.member]++
		assigned[p.shard] = p.member
	}
	return assigned
}

type pair struct {
	member string
	shard  int
	score  uint64
}

// pairs returns all pairs in descending order of their scores.
func pairs(members []string, shards int) []pair {
	all := make([]pair, 0, len(members)*shards)
	for _, member := range members {
		h := fnv.New64a()
		name, _, _ := strings.Cut(member, "_")
		_, _ = h.Write([]byte(name)) // never fails
		sum := h.Sum64()
		for shard := range shards {
			all = append(all, pair{member, shard, mix(sum + uint64(shard)*0x9e3779b97f4a7c15)})
		}
	}
	slices.SortFunc(all, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.member, b.member), cmp.Compare(a.shard, b.shard))
	})
	return all
}

// mix spreads a change of any bit over all bits: the finalizer of SplitMix64. FNV alone gives similar names similar
// sums.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
