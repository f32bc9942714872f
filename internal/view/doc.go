// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package view is the read model of all clients: the command line, the page's server, the doors and the doctor.
//
// A Snapshot is the state of a chat or of standalone tasks at one moment. The package consists of pure functions of
// it: the order of a conversation, the tree of tasks and sub-agents, the open asks, whether a message has been
// handled, and why work stands still. Package internal/client/follow reads snapshots.
package view
