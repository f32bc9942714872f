// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package a2a serves runs over the A2A protocol, version 1.0: each role is an agent at /a2a/NAMESPACE/ROLE.
//
// An A2A task is a standalone AgentTask with the same name, or a turn of a chat: a person's message and everything
// that follows from it. There is no store of tasks here. Every response is read from the objects and their history,
// with the caller's permissions, so tasks that were started elsewhere are visible too, and nothing is lost with a
// process.
package a2a
