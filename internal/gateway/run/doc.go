// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package run starts, follows and continues runs for callers of any protocol. A run is a standalone AgentTask, or a
// message to an AgentChat.
//
// A [Caller] does everything with the caller's own token: the API server decides what is allowed, and records who did
// it. Nothing is stored here. A run that was started with an idempotency key has a name derived from that key, so
// that a repeated request finds the same run, on any replica and after a restart.
//
// [Caller.FollowTask] and [Caller.FollowChat] return the events of a run. Each event has a [Cursor]; following from a
// cursor continues exactly after it, because events are a function of the recorded history. Only the pieces of an
// answer that is still being written are not recorded: they are counted by the cursor's offset, and the recorded
// answer supplies the rest.
package run
