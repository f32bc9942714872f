// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/role"
)

// A role that overlays a built-in one keeps the effort of reasoning that it sets, down to the agent's configuration.
func TestReasoningEffortOfARole(t *testing.T) {
	builtIn, ok := role.BuiltIn("researcher")
	if !ok || roleOf(builtIn, "ns").ReasoningEffort != "" {
		t.Fatalf("the built-in role has the effort %q, want none", builtIn.ReasoningEffort)
	}
	over := role.Role{AgentRoleSpec: v1beta1.AgentRoleSpec{ReasoningEffort: v1beta1.EffortHigh}}
	if got := roleOf(builtIn.Overlay(over), "ns").ReasoningEffort; got != "High" {
		t.Errorf("the agent's role has the effort %q, want High", got)
	}
	over.ReasoningEffort = v1beta1.EffortNone
	if got := roleOf(builtIn.Overlay(over), "ns").ReasoningEffort; got != "None" {
		t.Errorf("the agent's role has the effort %q, want None", got)
	}
}
