// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func drawMembers(t *rapid.T, least, most int) []string {
	return rapid.SliceOfNDistinct(rapid.StringMatching(`nestor-[0-9a-f]{4}_[A-Z2-7]{4}`), least, most, rapid.ID).Draw(t, "members")
}

func TestAssignmentIsEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, shards := drawMembers(t, 1, 20), rapid.IntRange(1, 100).Draw(t, "shards")
		count := map[string]int{}
		for shard, member := range assign(members, shards) {
			if !slices.Contains(members, member) {
				t.Fatalf("shard %d is assigned to %q", shard, member)
			}
			count[member]++
		}
		above := 0
		for _, member := range members {
			switch count[member] - shards/len(members) {
			case 0:
			case 1:
				above++
			default:
				t.Fatalf("%s has %d of %d shards, with %d members", member, count[member], shards, len(members))
			}
		}
		if above != shards%len(members) {
			t.Fatalf("%d members have one more, not %d", above, shards%len(members))
		}
	})
}

func TestAssignmentDoesNotDependOnTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := drawMembers(t, 1, 10)
		if a, b := assign(members, 32), assign(rapid.Permutation(members).Draw(t, "permutation"), 32); !slices.Equal(a, b) {
			t.Fatalf("%v\n%v", a, b)
		}
	})
}

// A member that joins receives shards. At most as many again move between the other members, and far fewer on average.
// A member that leaves is the same in reverse.
func TestFewShardsMoveWhenAMemberJoins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := drawMembers(t, 2, 9)
		joins, between := moves(members)
		if most := (32 + len(members) - 1) / len(members); joins > most || between > joins+most {
			t.Fatalf("%d shards moved to the new member, %d between %d others", joins, between, len(members)-1)
		}
	})
}

func TestShardsThatMoveBetweenMembersThatStay(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := 2; n <= 9; n++ {
		sum, most := 0, 0
		for range 500 {
			members := make([]string, n)
			for i := range members {
				members[i] = fmt.Sprintf("nestor-operator-%08x_%08x", random.Uint32(), random.Uint32())
			}
			_, between := moves(members)
			sum, most = sum+between, max(most, between)
		}
		mean := float64(sum) / 500
		t.Logf("%d members, one joins: %.1f of 32 shards move to it, %.1f between the others (at most %d)", n-1, 32/float64(n), mean, most)
		if mean > 3.5 {
			t.Errorf("%.1f shards move between members that stay", mean)
		}
	}
}

// moves returns how many of 32 shards move to the last member when it joins, and how many between the others.
func moves(members []string) (joins, between int) {
	last := members[len(members)-1]
	before, after := assign(members[:len(members)-1], 32), assign(members, 32)
	for shard := range before {
		switch after[shard] {
		case before[shard]:
		case last:
			joins++
		default:
			between++
		}
	}
	return joins, between
}

func TestAssign_NoMembers(t *testing.T) {
	if got := assign(nil, 2); !slices.Equal(got, []string{"", ""}) {
		t.Errorf("%q", got)
	}
}
