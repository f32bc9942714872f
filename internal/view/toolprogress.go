// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

// ToolProgress returns what a running tool of a node reports: "box__copy 3/10 files". It is empty if there is nothing to show.
func (n *Node) ToolProgress() string {
	if n.Ended() {
		return ""
	}
	if p := n.Task.Status.Progress; p != "" {
		return n.Task.Spec.Tool + " " + p
	}
	if n.Agent == nil {
		return ""
	}
	for _, call := range n.Agent.Status.ToolCalls {
		if call.Progress != "" {
			return call.Tool + " " + call.Progress
		}
	}
	return ""
}
