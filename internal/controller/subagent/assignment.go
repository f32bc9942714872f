// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package subagent

import (
	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// taskOf returns the task of a sub-agent for its agent.
func taskOf(sub *v1alpha1.SubAgent) agent.Task {
	task := agent.Task{
		Instruction: sub.Spec.Instruction, ContextFiles: sub.Spec.ContextFiles, SuccessCriteria: sub.Spec.SuccessCriteria, Cwd: sub.Spec.Cwd,
		ContextMode: string(sub.Spec.Context),
	}
	if sub.Spec.Arguments != nil {
		task.Arguments = sub.Spec.Arguments.Raw
	}
	return task
}
