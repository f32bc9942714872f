// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package replicas divides shards among the operators of a ledger. The owners of the shards are in the database: see
// [ledger.Shards].
//
// Each operator has a row, which it renews every quarter of the lease duration. Several times as often, it reads the
// rows of all operators and shards, and computes the assignment of shards to operators from these alone. It takes a
// shard that is assigned to it and has no live owner, and hands over a shard that is assigned to another operator.
//
//	          assigned to this operator,
//	          the shard has no live owner
//	waiting ------------------------------> Own(ctx) runs, takes the shard and keeps it
//	   ^                                        | assigned to another operator, or Start's context ended: ctx ends, Own releases the shard
//	   |                                        | another operator has taken the shard: Own returns
//	   +<---------------------------------------+
//
// Invariants:
//
//  1. A shard with a live owner is not taken by another operator; the transaction that takes it checks that.
//  2. An operator whose row may have expired since its last renewal neither takes nor hands over shards for half a
//     lease duration after it can renew again: after an outage of the database, all operators renew their rows before
//     any of them acts on an expired one.
//  3. An operator keeps its shards while the database does not answer: no operator can take them, and appends of an old
//     epoch are refused later.
//
// An operator that stops sets its state to Stopping at once, so the others take each shard as soon as it is released.
// A process with the same name as an earlier one takes the earlier one's shards at once.
package replicas
