// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package subagent

import (
	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// taskOf is the work of a sub-agent.
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

// tightened are the limits of a role with those that the agent was created with: they may only be tighter.
func tightened(limits agent.Limits, spec v1alpha1.AgentLimits) agent.Limits {
	limits.MaxIterations = tighter(limits.MaxIterations, int(spec.MaxIterations))
	limits.MaxDuration = tighter(limits.MaxDuration, agent.Millis(spec.MaxDurationSeconds)*1000)
	limits.MaxTokens = tighter(limits.MaxTokens, spec.MaxTotalTokens)
	limits.MaxTasks = tighter(limits.MaxTasks, int64(spec.MaxTasks))
	limits.MaxCostMicros = tighter(limits.MaxCostMicros, spec.MaxCostMicros)
	return limits
}

// tighter is the smaller of two limits of which zero is none.
func tighter[T int | int64 | agent.Millis](a, b T) T {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}
