// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package subagent

import (
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// taskOf is the work of a sub-agent.
func taskOf(sub *v1alpha1.SubAgent) agent.Task {
	task := agent.Task{
		Instruction: sub.Spec.Instruction, ContextFiles: sub.Spec.ContextFiles, SuccessCriteria: sub.Spec.SuccessCriteria, Cwd: sub.Spec.Cwd,
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

// contextOf is what a sub-agent is shown of its parent's conversation.
func contextOf(mode v1alpha1.ContextMode, files []string, parent agent.State) string {
	switch mode {
	case v1alpha1.ContextSummary:
		if parent.Summary != "" {
			return parent.Summary
		}
		return told(parent.History.Newest(newestShown), nil)
	case v1alpha1.ContextFull:
		return strings.TrimSpace(parent.Summary + "\n\n" + told(parent.History.Messages(), nil))
	case v1alpha1.ContextSelective:
		return told(parent.History.Messages(), files)
	}
	return ""
}

// newestShown is how much of a conversation that has no summary yet stands for one.
const newestShown = 6

// told tells a conversation as text; with files, only what mentions one of them.
func told(messages []agent.Message, files []string) string {
	var lines []string
	for _, m := range messages {
		mentions := func(file string) bool { return strings.Contains(m.Text, file) }
		if m.Text == "" || (files != nil && !slices.ContainsFunc(files, mentions)) {
			continue
		}
		lines = append(lines, string(m.Speaker)+": "+m.Text)
	}
	return strings.Join(lines, "\n")
}
