// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package ledger stores the history of every agent and a record of every model and tool call, in SQL.
//
// An agent's state is the fold of its events. The ledger does not interpret events: to it an event is a type, a time and
// JSON. It only decides which writer may append. The events of an agent are numbered from 1 without gaps. A writer names the event
// after which it continues; if it is not up to date, it gets a *ConflictError and must load the agent again. Two operators
// on one ledger can therefore never both act on the same state.
//
// # The order of writes
//
// A writer records an intent before the effect, and the result before it continues:
//
//  1. Step the state and Append one Batch: the events, and the intents of the effects that they caused.
//  2. Perform the effects, each with its idempotency key.
//  3. Append the next Batch: the result of the effect together with the event that reports it to the state.
//
// A Batch is atomic, and it is durable when Append returns nil. After a crash, an intent without a result is an effect whose
// outcome is unknown: OpenCalls lists them, and ToolCall.Repeatable decides whether the effect may be performed again.
//
// Load returns the newest snapshot and the events after it. A snapshot is only an optimisation: all events are kept, and a
// reader that cannot decode a snapshot reads Events from the start.
//
// # Failures
//
// A failure of the database is an *Error with a Reason that can be used as the reason of a condition. errors.Is
// distinguishes ErrUnavailable (transient, retry) from ErrNeedsAttention (a person must act). No failure loses anything that
// Append acknowledged, and both drivers recover without a restart when the cause is gone. After an error of Append other than
// a conflict, the writer must load the agent again: if a connection breaks during the commit, the outcome is unknown.
//
// # Packages
//
//   - connect opens the ledger for a connection string.
//   - sqlite and postgres are the drivers; sqlstore contains what they share, the SQL and the group commit.
//   - migrations contains the schema of both, in order.
//   - ledgertest is the conformance suite for both drivers, and starts PostgreSQL for tests.
package ledger
