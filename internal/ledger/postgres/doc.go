// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package postgres stores a ledger in a PostgreSQL database, for operators with several replicas.
//
// The statements of a group are pipelined, so a group needs a few round trips whatever its size. Commits are synchronous. Broken
// connections are replaced when they are next needed, so the operator survives restarts and failovers of the server.
//
// Errors of this package contain no passwords: see redact.go.
package postgres
