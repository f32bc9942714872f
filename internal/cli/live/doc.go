// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package live keeps up with a chat, or with a standalone task, while it goes on.
//
// Watch gives a Snapshot of everything that belongs to it, and another whenever something has changed; what happened in
// between can be skipped, what is there now cannot. The rest of the package are pure functions of a Snapshot: the order
// of a conversation, the tree of tasks and sub-agents, what waits for the person, and whether a message has been dealt
// with.
package live
