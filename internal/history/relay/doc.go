// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package relay makes live text available on every replica: an agent runs in one of them, and people follow it through any.
//
//	engine ──► live.Hub (Local) ──► server ══ TLS, HTTP/2 ══► follower ──► live.Hub (Relay.Hub) ──► history API
//	                        └─────────────────────────────────►┘ (the agent runs in this process)
//
// While a person follows an agent, a follower finds the replica that holds its tree and copies the updates from there: from the
// Local hub of this process, or through a stream of the other replica's server. It is the only one that adds to the agent's feed in
// Relay.Hub. There is one connection for each pair of replicas, with a stream for each followed agent, and none without readers.
//
// The ledger is the record. Whenever a follower starts to read from a replica, readers are notified of a change and read the
// ledger. So a lost connection, a replica that dies or a tree that moves may delay live text, but no entry is lost or repeated.
//
// Replicas authenticate each other by the fingerprints of their public keys ([Identity]), which they publish in their rows of the ledger. The
// server of a replica accepts only connections of live replicas, and only TLS 1.3.
package relay
