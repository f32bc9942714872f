// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package postgres keeps a ledger in a PostgreSQL database, for operators with several replicas.
//
// A group of batches travels to the server in a few round trips whatever its size, as its statements are pipelined.
// Commits are synchronous. Broken connections are replaced when they are next needed, so a server that restarts or
// fails over needs no restart of the operator.
//
// No error of this package holds a password: see redact.go.
package postgres
