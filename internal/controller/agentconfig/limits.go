// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/role"
)

// The limits of an agent have three sources. The role limits one run. The spec of a chat or standalone task limits its
// tree. A task may limit its sub-agent further than the role does; the spec of the sub-agent contains the result.

// Default limits of chats and standalone trees. The API server sets the defaults of a chat; objects that were created
// before the fields existed do not have them.
const (
	defaultMaxTurnsPerMessage  = 25
	defaultMaxTasksPerMessage  = 100
	defaultMaxTokensPerMessage = 2_000_000
	defaultMaxTasks            = 100
	defaultMaxTotalTokens      = 2_000_000
)

// maxRepeats is how often the same delegation may have the same result.
const maxRepeats = 5

func ofRole(r role.Role) agent.Limits {
	return agent.Limits{
		MaxIterations: int(r.Limits.MaxIterations), MaxDuration: agent.Millis(r.Limits.MaxDurationSeconds) * 1000,
		MaxTokens: r.Limits.MaxTotalTokens, MaxCostMicros: r.Limits.MaxCostMicros, MaxOutputTokens: int64(r.MaxOutputTokens),
		MaxRepeats: maxRepeats,
	}
}

// ofChat returns the limits of an orchestrator: those of its role, and those of the chat for the whole tree where they
// are tighter.
func ofChat(limits agent.Limits, spec v1beta1.ChatLimits) agent.Limits {
	limits.MaxTokens = tighter(limits.MaxTokens, spec.MaxTotalTokens)
	limits.MaxCostMicros = tighter(limits.MaxCostMicros, spec.MaxCostMicros)
	limits.MaxTurnsPerMessage = int(ptr.Deref(spec.MaxTurnsPerMessage, defaultMaxTurnsPerMessage))
	limits.MaxTasksPerMessage = int64(ptr.Deref(spec.MaxTasksPerMessage, defaultMaxTasksPerMessage))
	limits.MaxTokensPerMessage = ptr.Deref(spec.MaxTokensPerMessage, defaultMaxTokensPerMessage)
	return limits
}

// ofSubAgent returns the limits of a sub-agent: the tighter of its role's and its spec's.
func ofSubAgent(limits agent.Limits, spec v1beta1.AgentLimits) agent.Limits {
	limits.MaxIterations = tighter(limits.MaxIterations, int(spec.MaxIterations))
	limits.MaxDuration = tighter(limits.MaxDuration, agent.Millis(spec.MaxDurationSeconds)*1000)
	limits.MaxTokens = tighter(limits.MaxTokens, spec.MaxTotalTokens)
	limits.MaxTasks = tighter(limits.MaxTasks, int64(spec.MaxTasks))
	limits.MaxCostMicros = tighter(limits.MaxCostMicros, spec.MaxCostMicros)
	return limits
}

// ofToolRun returns the limits of a tool run: those of the role, except that the task limits the duration of the tool.
func ofToolRun(limits agent.Limits, spec v1beta1.TaskLimits) agent.Limits {
	if seconds := spec.MaxDurationSeconds; seconds != nil {
		limits.MaxDuration = agent.Millis(*seconds) * 1000
	}
	return limits
}

// OfTask returns the limits in the spec of a task's sub-agent: those of its role, or those of the task where they are
// tighter. top reports whether the task is standalone: its tree is limited even if its spec sets no limits.
func OfTask(r role.Role, task *v1beta1.TaskLimits, maxDepth int32, top bool) v1beta1.AgentLimits {
	if task == nil {
		task = &v1beta1.TaskLimits{}
	}
	limits := v1beta1.AgentLimits{MaxDepth: maxDepth, MaxCostMicros: r.Limits.MaxCostMicros}
	limits.MaxIterations = min(r.Limits.MaxIterations, ptr.Deref(task.MaxIterations, r.Limits.MaxIterations))
	limits.MaxDurationSeconds = min(r.Limits.MaxDurationSeconds, ptr.Deref(task.MaxDurationSeconds, r.Limits.MaxDurationSeconds))
	tasks, tokens := int32(0), int64(0)
	if top {
		tasks, tokens = defaultMaxTasks, defaultMaxTotalTokens
	}
	limits.MaxTasks = ptr.Deref(task.MaxTasks, tasks)
	limits.MaxTotalTokens = tighter(r.Limits.MaxTotalTokens, ptr.Deref(task.MaxTotalTokens, tokens))
	return limits
}

// tighter returns the smaller of two limits; zero means no limit.
func tighter[T int | int64 | agent.Millis](a, b T) T {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}
