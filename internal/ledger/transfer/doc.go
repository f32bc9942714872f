// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package transfer copies a ledger to another database, such as from SQLite to PostgreSQL and back.
//
// It copies rows as they are, table by table in the order of their primary keys, in batches. Each batch and the place
// where it ends are written in one transaction, so that a transfer that was killed continues exactly there. At the
// end the rows of both ledgers are counted and hashed.
//
// The tables come from the schemas of both databases. State of running operators is not copied: it is meaningless in
// another ledger.
//
// While the target has the table unfinished_transfer, it is incomplete, and operators refuse it.
package transfer
