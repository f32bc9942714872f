// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster reads Nestor's objects for the operator's decisions.
//
// The caches of different kinds have no order between them: a chat may appear before a role that was created earlier,
// and a task may be gone from the cache while its sub-agent is still there. Reads therefore guarantee:
//
//  1. What this process has written is never missing.
//  2. Before an absence has consequences, it is confirmed with a read from the API server, which concurrent callers share. So is a task or
//     sub-agent before its first call.
//  3. No order between kinds is assumed: with every kind at any older version a decision may do too little for a moment, and never
//     anything wrong.
//
// The package also has what wakes controllers: predicates and indexes for watches, queues for changes within the
// process, and the gate that lets a controller act only on objects whose shard this operator owns.
package cluster
