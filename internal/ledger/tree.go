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

// Branch is a node with the agents that it asked for.
type Branch struct {
	TreeNode
	Children []*Branch
}

// Nest puts nodes into the shape of their tree and keeps their order among siblings. A node whose parent is not
// among them is a root, so a part of a tree nests as well as the whole.
func Nest(nodes []TreeNode) []*Branch {
	branches := make(map[string]*Branch, len(nodes))
	for _, node := range nodes {
		branches[node.UID] = &Branch{TreeNode: node}
	}
	var roots []*Branch
	for _, node := range nodes {
		branch := branches[node.UID]
		parent, ok := branches[node.Parent]
		if !ok || parent == branch {
			roots = append(roots, branch)
			continue
		}
		parent.Children = append(parent.Children, branch)
	}
	return roots
}
