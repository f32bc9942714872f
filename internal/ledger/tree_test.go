// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// TestNestKeepsEveryNodeOnce nests random forests, in random order and with parents that are not among the nodes.
func TestNestKeepsEveryNodeOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(r, "nodes")
		nodes := make([]ledger.TreeNode, n)
		for i := range nodes {
			nodes[i].UID = fmt.Sprint(i)
			if i > 0 && rapid.Bool().Draw(r, "has parent") {
				nodes[i].Parent = fmt.Sprint(rapid.IntRange(0, i-1).Draw(r, "parent"))
			}
			if rapid.IntRange(0, 9).Draw(r, "orphan") == 0 {
				nodes[i].Parent = "elsewhere"
			}
		}
		nodes = rapid.Permutation(nodes).Draw(r, "order")
		parents := map[string]string{}
		var walk func(parent string, branches []*ledger.Branch)
		walk = func(parent string, branches []*ledger.Branch) {
			for _, b := range branches {
				if _, twice := parents[b.UID]; twice {
					r.Fatalf("node %s appears twice", b.UID)
				}
				parents[b.UID] = parent
				walk(b.UID, b.Children)
			}
		}
		walk("", ledger.Nest(nodes))
		want := map[string]string{}
		for _, node := range nodes {
			want[node.UID] = node.Parent
			if node.Parent == "elsewhere" {
				want[node.UID] = ""
			}
		}
		if diff := cmp.Diff(want, parents); diff != "" {
			r.Fatalf("parents (-want +got):\n%s", diff)
		}
	})
}
