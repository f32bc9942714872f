// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package ledgertest is the conformance suite for drivers of the ledger, and starts a PostgreSQL server for tests.
//
// The test of a driver passes Run a function that creates an empty database; the suite opens ledgers in it, several at once to
// simulate two processes. Crash tests use Acknowledged to check that acknowledged events survive. Benchmark measures appends.
package ledgertest
