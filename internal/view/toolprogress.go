// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import "github.com/nestor-dev/nestor/api/v1beta1"

// ReportedByTool is what a running tool reports about its work.
type ReportedByTool struct {
	Call string `json:"call"`
	Tool string `json:"tool"`
	Text string `json:"text"`
}

// ReportedByTools returns what the running tools of a node report.
func (n *Node) ReportedByTools() []ReportedByTool {
	if n.Ended() {
		return nil
	}
	var reports []ReportedByTool
	if p := n.Task.Status.Progress; p != "" {
		reports = append(reports, ReportedByTool{n.Task.Name, n.Task.Spec.Tool, p})
	}
	if n.Agent == nil {
		return reports
	}
	for _, call := range n.Agent.Status.ToolCalls {
		if call.Progress != "" && call.Phase == v1beta1.ToolCallRunning {
			reports = append(reports, ReportedByTool{call.ID, call.Tool, call.Progress})
		}
	}
	return reports
}

// ToolProgress returns the first of these reports in words: "box__copy 3/10 files". It is empty if there is nothing to
// show.
func (n *Node) ToolProgress() string {
	for _, report := range n.ReportedByTools() {
		return report.Tool + " " + report.Text
	}
	return ""
}
