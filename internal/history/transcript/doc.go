// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package transcript turns the events of an agent into the entries that people read.
//
// An event says what came in; what it led to (which tool calls a reply became, which runs were started, what the model was
// told, how the agent ended) is in the state. So an entry is made of the state before an event, the event, and the state after
// it, all by the core itself: nothing is guessed or implemented twice. The functions of entry.go and calls.go are pure.
//
// A Reader pages through a ledger. To make an entry it needs the state before it, which is the fold of all events up to there;
// it keeps the places where readers have stopped, so that reading on costs what the next page costs, and it never holds more
// than a page of events.
package transcript
