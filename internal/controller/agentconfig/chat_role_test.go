// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/role"
)

func TestTaskRoleCannotLeadChat(t *testing.T) {
	for field, spec := range map[string]v1beta1.AgentRoleSpec{
		"remote agent": {Remote: &v1beta1.RemoteAgent{}},
		"outputSchema": {OutputSchema: &runtime.RawExtension{Raw: []byte(`{"type":"object"}`)}},
		"review":       {Review: &v1beta1.ResultReview{Role: "critic"}},
	} {
		found := role.Role{AgentRoleSpec: spec}
		var invalid *resolve.Missing
		err := Subject{Kind: agent.Orchestrator, Role: "writer"}.checkRole(found)
		if !errors.As(err, &invalid) || invalid.Reason != v1beta1.ReasonInvalidSpec || !strings.Contains(invalid.Message, field) {
			t.Errorf("a chat with a role that has %s: %v", field, err)
		}
		if err := (Subject{Kind: agent.SubAgent, Role: "writer"}).checkRole(found); err != nil {
			t.Errorf("a task with a role that has %s: %v", field, err)
		}
	}
}
