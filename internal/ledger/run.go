// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

// Run is an agent with its own usage, without that of its children.
type Run struct {
	Agent
	// Models sums its model calls, Tools counts its tool calls.
	Models CallTotals
	Tools  int64
	// Superseded reports that a newer agent of the same kind has the name.
	Superseded bool
}
