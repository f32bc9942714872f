// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package narrate prints a chat line by line where there is no full screen: messages, the start and end of tasks, and
// what to type when an agent waits. It turns snapshots into lines and records what it has printed.
package narrate
