// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package share divides limits that hold for the whole installation among its replicas.
//
// A limit is a resource with a name, such as provider/team/main/concurrent. In the ledger, each replica has a row for
// each resource that it uses: the amounts that it holds and uses, and the need of each namespace. About once a second
// a [Keeper] reads the rows of all replicas and changes its own, in one transaction that excludes the other replicas.
// Between these transactions a replica starts work within its own amount without coordination.
//
// # Invariants
//
//  1. The amounts of all replicas never sum to more than the limit: a replica takes only what the rows of the others
//     leave. After a limit was lowered the sum only falls.
//  2. A replica keeps the amount in use: calls in flight, or for a limit per minute the use in its window of a minute.
//     A [Source] lowers its bound before the row is lowered, and raises it after the row was raised.
//  3. A replica starts nothing when its last transaction began more than [ValidFor] ago. Its row counts for longer:
//     [countsFor], so that calls in flight have time to end, plus a minute for a limit per minute.
//
// # Division
//
// The limit is divided max-min fairly among namespaces, by the need of each namespace on all replicas. The part of a
// namespace is divided among the replicas by the weights that they report, normally the number of its chats. Parts
// that are smaller than one unit (one call) rotate: each replica sums up its deficits and surpluses, and the one with
// the largest deficit is next. An amount that no replica needs remains in the ledger, except for a reserve that each
// active replica keeps for calls that arrive.
package share
