// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"fmt"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/role"
	"github.com/nestor-dev/nestor/internal/validation"
)

// checkIsolated returns an error if something could leave agents with an isolated role.
func checkIsolated(s Subject, definition role.Role) error {
	problem := role.IsolationProblem(definition)
	if err := validation.CheckRole(definition.AgentRoleSpec); problem == "" && err != nil {
		problem = fmt.Sprintf("The role %s cannot be used: %s.", s.Role, err)
	}
	if problem == "" && s.OutputSchema != nil {
		problem = fmt.Sprintf("The role %s is isolated, so its outputSchema cannot be replaced.", s.Role)
	}
	if problem == "" {
		return nil
	}
	return &resolve.Missing{Reason: v1beta1.ReasonInvalidSpec, Message: problem}
}
