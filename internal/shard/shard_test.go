// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package shard_test

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/shard"
)

// golden is the hash of a UID as it is stored.
const golden = 42840

func counts() *rapid.Generator[int] {
	return rapid.OneOf(rapid.IntRange(1, 64), rapid.IntRange(1, shard.Hashes))
}

func TestOfAndRangeAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := shard.Count(counts().Draw(t, "shards"))
		hash := rapid.IntRange(0, shard.Hashes-1).Draw(t, "hash")
		index := n.Of(hash)
		if index < 0 || index >= int(n) {
			t.Fatalf("hash %d is in shard %d of %d", hash, index, n)
		}
		if from, to := n.Range(index); hash < from || hash >= to {
			t.Fatalf("hash %d is in shard %d, whose range is [%d, %d)", hash, index, from, to)
		}
	})
}

func TestRangesPartitionTheHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := shard.Count(counts().Draw(t, "shards"))
		next, smallest, largest := 0, shard.Hashes, 0
		for index := range int(n) {
			from, to := n.Range(index)
			if from != next || to <= from {
				t.Fatalf("shard %d of %d is [%d, %d), and the previous one ends at %d", index, n, from, to, next)
			}
			next, smallest, largest = to, min(smallest, to-from), max(largest, to-from)
		}
		if next != shard.Hashes {
			t.Fatalf("%d shards end at hash %d", n, next)
		}
		if largest-smallest > 1 {
			t.Fatalf("the ranges of %d shards have %d to %d hashes", n, smallest, largest)
		}
	})
}

// Stored hashes depend on the function: it must not change.
func TestHashIsFoldedFNV(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		uid := rapid.String().Draw(t, "uid")
		h := fnv.New32a()
		_, _ = h.Write([]byte(uid))
		if want, got := int(h.Sum32()>>16^h.Sum32()&0xffff), shard.Hash(uid); got != want {
			t.Fatalf("the hash of %q is %d, want %d", uid, got, want)
		}
	})
	if got := shard.Hash("4c1d8f2e-0b5a-4f4e-9a57-6a1f6d0c2b11"); got != golden {
		t.Errorf("the hash of a fixed UID is %d, want %d", got, golden)
	}
}

func TestRandomUIDsSpreadEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := shard.Count(rapid.SampledFrom([]int{2, 3, 7, 32, 100}).Draw(t, "shards"))
		random := rand.NewChaCha8([32]byte{rapid.Byte().Draw(t, "seed"), rapid.Byte().Draw(t, "seed")})
		const uids = 10_000
		trees := make([]int, n)
		for range uids {
			high, low := random.Uint64(), random.Uint64()
			uid := fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", high>>32, high>>16&0xffff, high&0xfff, low>>50|0x8000, low&0xffff_ffff_ffff)
			trees[n.Of(shard.Hash(uid))]++
		}
		mean := float64(uids) / float64(n)
		for index, got := range trees {
			if math.Abs(float64(got)-mean) > 6*math.Sqrt(mean) {
				t.Fatalf("shard %d of %d has %d of %d trees, want about %.0f", index, n, got, uids, mean)
			}
		}
	})
}
