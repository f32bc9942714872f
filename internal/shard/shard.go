// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package shard divides trees of agents into shards.
//
// A tree has a hash, which is computed from the UID of its root object and never changes. A shard is a range of hashes, so a
// different number of shards needs no change of the stored hashes.
package shard

// Hashes is the number of hashes: they are 0 to Hashes-1.
const Hashes = 1 << hashBits

const hashBits = 16

// Hash returns the hash of the tree whose root object has this UID.
func Hash(uid string) int {
	// FNV-1a of 32 bits, folded to 16. It is written out because stored hashes depend on it.
	const offset, prime = 2166136261, 16777619
	h := uint32(offset)
	for i := range len(uid) {
		h = (h ^ uint32(uid[i])) * prime
	}
	return int(h>>hashBits ^ h&(Hashes-1))
}

// Count is a number of shards, from 1 to Hashes.
type Count int

func (n Count) Valid() bool { return n >= 1 && n <= Hashes }

// Of returns the index of a hash's shard, from 0 to n-1.
func (n Count) Of(hash int) int { return hash * int(n) >> hashBits }

// Range returns the hashes of a shard: from is the first one, and to the one after the last.
func (n Count) Range(index int) (from, to int) { return n.start(index), n.start(index + 1) }

// start returns the smallest hash whose shard is not below the index.
func (n Count) start(index int) int { return (index*Hashes + int(n) - 1) / int(n) }
