// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package sqlstore is the ledger on any SQL database: its statements, its queries and the group commit.
//
// SQLite and PostgreSQL understand the same statements here, down to the $1 of the parameters. What differs stands
// behind Driver: how a transaction is written, what an error means, how space is given back.
//
// Append puts a batch into a queue. One goroutine takes all that wait, up to a limit, and writes them in one
// transaction; while it waits for the disk the next group gathers. So a single writer waits for nobody, and many
// writers share the cost of making a transaction durable. A group first claims its agents, each with an update that
// takes effect only if the writer is up to date, and then inserts the rows of those that won. Batches that lost get
// their conflict, the others are not touched by it. Should anything else be wrong with one batch, the group is
// rolled back and each of its batches is written alone, so that only the one at fault fails.
package sqlstore
