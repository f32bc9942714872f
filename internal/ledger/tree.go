// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

// TreeNode is an agent in a tree with its own usage, without that of its children.
type TreeNode struct {
	Agent
	// Models sums its model calls, Tools counts its tool calls.
	Models CallTotals
	Tools  int64
}

// Run is an agent with its own usage.
type Run struct {
	TreeNode
	// Superseded reports that a newer agent of the same kind has the name.
	Superseded bool
}
