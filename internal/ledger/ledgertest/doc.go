// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package ledgertest is what every driver of the ledger must pass, and what starts a PostgreSQL server for tests.
//
// A driver's test gives Run a function that makes an empty database; the suite opens ledgers in it, several at once
// where it plays two processes. Crash tests use Acknowledged to remember what a ledger has promised and to hold it
// to that. Benchmark measures appends.
package ledgertest
