// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

// TreeNode is an agent in the tree of a chat, with what it used itself; its children's usage is their own.
type TreeNode struct {
	Agent
	// Models sums its model calls, Tools counts its tool calls.
	Models CallTotals
	Tools  int64
}

// Run is an agent with what it used itself.
type Run struct {
	TreeNode
	// Superseded says that a newer agent of the same kind has the name.
	Superseded bool
}
