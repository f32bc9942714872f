// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package transcript converts the events of an agent to the entries that people read.
//
// An event has the input; its consequences (the tool calls of a reply, the runs that were started, the messages for
// the model, the outcome of the agent) are in the state. So an entry is computed from the state before an event, the
// event, and the state after it, all of which the core provides: nothing is guessed or implemented twice. The
// functions of entry.go and calls.go are pure.
//
// A Reader pages through a ledger. An entry needs the state before it, which is the fold of all earlier events. The
// reader caches the positions where readers stopped, so that reading on costs only the next page, and never holds
// more than a page of events.
package transcript
