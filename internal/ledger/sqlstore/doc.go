// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package sqlstore implements the ledger for any SQL database: statements, queries and the group commit.
//
// SQLite and PostgreSQL accept the same statements, including $1 for parameters. Driver hides the differences: how a
// transaction is written, what an error means, and how space is freed.
//
// Append adds a batch to a queue. One goroutine takes all waiting batches, up to a limit, and writes them in one
// transaction; meanwhile the next group collects. A single writer does not wait, and many writers share the cost of
// making a transaction durable. A group first advances its agents, each with an update that takes effect only if the
// writer is up to date, and then inserts the rows of those that succeeded. Batches that did not get a conflict, without
// affecting the others. After any other error the group is rolled back and each batch is written alone, so that only
// the faulty one fails.
package sqlstore
