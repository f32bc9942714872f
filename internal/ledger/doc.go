// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package ledger is Nestor's memory: the history of every agent and the record of every model and tool call, in SQL.
//
// An agent's state is the fold of its events. The ledger stores those events and nothing decides about them: to the
// ledger an event is a type, a time and JSON. What it does decide is who may append. An agent's events are numbered
// from 1 without gaps, a writer says after which event it continues, and a writer that is not up to date gets a
// *ConflictError and must load again. So two operators on one ledger can never both act on the same state.
//
// # The order of things
//
// A writer follows one rule, intent before effect and result before progress:
//
//  1. Step the state and Append one Batch: the events, and the intents of the effects that they caused.
//  2. Perform the effects, each under its idempotency key.
//  3. Append the next Batch: the result of the effect together with the event that tells the state about it.
//
// A Batch is written whole or not at all, and it is durable when Append returns nil. After a crash at any point an
// intent without a result is an effect whose outcome is unknown: OpenCalls lists them, and the writer decides by
// ToolCall.Repeatable whether it may be performed again.
//
// Load gives the newest snapshot and the events after it. A snapshot is a shortcut and never the truth: the events
// stay, and a reader that does not understand a snapshot reads Events from the start.
//
// # When it fails
//
// A failure of the database is an *Error with a Reason that reads well as the reason of a condition. errors.Is tells
// ErrUnavailable (it will pass, try again) from ErrNeedsAttention (a person must act). Nothing that Append
// acknowledged is lost by any of them, and both drivers go on without a restart once the cause is gone. After an error of
// Append other than a conflict the writer loads the agent and goes on from what it finds there: a connection that
// breaks during the commit leaves even the ledger in doubt until it is back.
//
// # Packages
//
//   - connect opens the ledger that a connection string names.
//   - sqlite and postgres are the drivers; sqlstore is what they share, the SQL and the group commit.
//   - migrations holds the schema of both, in order.
//   - ledgertest is the conformance suite that both drivers pass, and starts PostgreSQL for tests.
package ledger
