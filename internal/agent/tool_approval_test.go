// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "testing"

func TestToolMayDecideAboutApprovals(t *testing.T) {
	for _, test := range []struct {
		role Role
		tool ToolApproval
		want bool
	}{
		{Role{}, "", true},
		{Role{Approval: ApproveNever}, "", false},
		{Role{}, ToolApprovalRequired, true},
		{Role{Approval: ApproveWrites}, ToolApprovalRequired, true},
		{Role{Approval: ApproveNever}, ToolApprovalRequired, true},
		{Role{Approval: ApproveAlways}, ToolApprovalRequired, true},
		{Role{}, ToolApprovalNotRequired, false},
		{Role{Approval: ApproveNever}, ToolApprovalNotRequired, false},
		{Role{Approval: ApproveAlways}, ToolApprovalNotRequired, true},
		{Role{ApprovalTools: []string{"publish_*"}}, ToolApprovalNotRequired, true},
		{Role{Approval: ApproveNever, ApprovalTools: []string{"publish_*"}}, ToolApprovalNotRequired, true},
	} {
		publish := Tool{Name: "publish_changes", Idempotent: true, Approval: test.tool}
		if got := test.role.needsApproval(publish); got != test.want {
			t.Errorf("role %q with %q, tool %q: %v, want %v", test.role.Approval, test.role.ApprovalTools, test.tool, got, test.want)
		}
		// A denied tool is not offered, whatever it says about approvals.
		c := Config{Kind: SubAgent, Role: test.role, Tools: []Tool{publish}}
		c.Role.Allow, c.Role.Deny = []string{"*"}, []string{"publish_changes"}
		if c.Offers("publish_changes") {
			t.Error("a denied tool is offered")
		}
		c.Role.Deny, c.Role.Allow = nil, []string{"read"}
		if c.Offers("publish_changes") {
			t.Error("a tool that the role does not allow is offered")
		}
	}
}
