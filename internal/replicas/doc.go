// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package replicas divides shards among the replicas of an installation with Leases of the API server. It decides which replica should own a
// shard and when; what owning means is up to the caller. It is not the last line of defence: a process that was stopped and continued may act for
// a moment after its Lease expired, so whatever an owner writes must be fenced by an epoch as well.
//
// There are two kinds of Leases, all with the label nestor.dev/lease:
//
//   - A member Lease (nestor-replica-NAME-SUFFIX) for each replica. It is renewed every RetryPeriod and says in annotations where the replica is
//     reached, the fingerprint of its key, and its state: active, unhealthy or stopping.
//   - A shard Lease (nestor-shard-00, ...) for each shard, held with client-go's leader election.
//
// Every replica watches all of them and computes the same assignment of shards to live members. It takes a shard that is assigned to it as soon as the
// shard's Lease is free or expired, and hands over a shard that is assigned to another member.
//
//	          assigned to this replica,                         Lease is held
//	          Lease is free or expired
//	waiting ------------------------------> acquiring -------------------------> Own(ctx) runs
//	   ^                                        | another replica was faster         |
//	   |<---------------------------------------+                                    |
//	   |                                                                             |
//	   |   assigned to another member, or Start's context ended: ErrHandOver,        |
//	   |   Own returns, the Lease is released                                        |
//	   |<----------------------------------------------------------------------------+
//	   |   the Lease was not renewed in time, or another process holds it:             |
//	   |   ErrLeaseLost, Own returns, the Lease is not touched                       |
//	   +<----------------------------------------------------------------------------+
//
// Invariants:
//
//  1. Own's context ends at most RenewDeadline after the start of the last successful renewal. Others regard the Lease as expired LeaseDuration after
//     they saw that renewal, which is later. client-go's elector alone does not promise this: it counts from the end of a renewal, adds a
//     RetryPeriod, and continues for a RenewDeadline when another process holds the Lease.
//  2. No clocks of different machines are compared. A Lease is expired if this process saw no change for its whole duration, and it is then taken with
//     its resource version as a precondition. A Lease that was deleted while it was held counts as held for the same time.
//  3. A Lease is released only after Own returned, only by its holder, and with its resource version as a precondition.
//  4. A shard is handed over only to a member that was seen for at least RetryPeriod.
//  5. A replica that does not see its own renewals in its watch takes and hands over nothing, because it does not see those of the others either.
//
// A replica with n shards writes n+1 times in RetryPeriod: 32 shards at the default of 2 s make 16 writes a second in total, and 0.5 for each replica.
package replicas
