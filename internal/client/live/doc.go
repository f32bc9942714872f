// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package live watches a chat or a standalone task.
//
// Watch returns a Snapshot of everything that belongs to it, and a new one after changes; intermediate states may be
// skipped, the newest never is. The rest of the package consists of pure functions of a Snapshot: the order of a
// conversation, the tree of tasks and sub-agents, the open asks, and whether a message has been handled.
package live
