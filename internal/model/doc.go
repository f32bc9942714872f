// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package model has one form of requests and replies for all language models.
//
// A [Client] calls one provider; there is a package for each API below this one. Client.Complete sends a [Request] and
// returns a [Reply]; both are plain data with a stable JSON form, so that the ledger can store them and rebuild a call
// exactly. While a reply streams in, its deltas go to a callback for the live view; only the complete reply is
// recorded.
//
// Providers and APIs differ. Their responses are brought into one form:
//
//   - [Reply.Outcome] classifies a reply: an answer, tool calls, a truncated answer, a refusal, a filtered or
//     an empty reply. Arguments that are not a JSON object are kept as text and marked; tool calls have unique IDs.
//   - Usage that the provider did not report is nil: unknown is not zero.
//   - Every failure is an *[Error] with a [Kind]. Callers branch on [Error.Retryable] and
//     [Error.NeedsCompaction]; the message is the provider's own, without the key.
//
// Nothing here waits for a retry or runs in the background. [Backoff] computes how long to wait, and the caller
// stores the time. Package schedule decides when a call may start.
//
// [Prices] converts usage to cost, in integers.
package model
