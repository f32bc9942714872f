// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/role"
)

func TestLimitsOfAnAgent(t *testing.T) {
	coder := role.Role{AgentRoleSpec: v1beta1.AgentRoleSpec{MaxOutputTokens: 4096, Limits: &v1beta1.RoleLimits{MaxIterations: 20, MaxDurationSeconds: 300, MaxTotalTokens: 1000, MaxCostMicros: 7}}}
	byRole := agent.Limits{MaxIterations: 20, MaxDuration: 300_000, MaxTokens: 1000, MaxCostMicros: 7, MaxOutputTokens: 4096, MaxRepeats: maxRepeats}
	with := func(change func(*agent.Limits)) agent.Limits {
		limits := byRole
		change(&limits)
		return limits
	}
	for name, test := range map[string]struct {
		subject Subject
		want    agent.Limits
	}{
		"of its role": {Subject{}, byRole},
		"a chat keeps its role's budget": {Subject{ChatLimits: &v1beta1.ChatLimits{MaxTotalTokens: 5000, MaxTurnsPerMessage: ptr.To[int32](3)}}, with(func(l *agent.Limits) {
			l.MaxTurnsPerMessage, l.MaxTasksPerMessage, l.MaxTokensPerMessage = 3, 100, 2_000_000
		})},
		"a chat may have a tighter budget": {Subject{ChatLimits: &v1beta1.ChatLimits{MaxTotalTokens: 500, MaxCostMicros: 3}}, with(func(l *agent.Limits) {
			l.MaxTokens, l.MaxCostMicros, l.MaxTurnsPerMessage, l.MaxTasksPerMessage, l.MaxTokensPerMessage = 500, 3, 25, 100, 2_000_000
		})},
		"a sub-agent may have tighter ones":      {Subject{AgentLimits: &v1beta1.AgentLimits{MaxIterations: 2, MaxTotalTokens: 5000, MaxTasks: 9}}, with(func(l *agent.Limits) { l.MaxIterations, l.MaxTasks = 2, 9 })},
		"a tool runs as long as its task allows": {Subject{TaskLimits: &v1beta1.TaskLimits{MaxDurationSeconds: ptr.To[int32](900)}}, with(func(l *agent.Limits) { l.MaxDuration = 900_000 })},
	} {
		if diff := cmp.Diff(test.want, test.subject.limits(coder)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestLimitsOfATask(t *testing.T) {
	coder := role.Role{AgentRoleSpec: v1beta1.AgentRoleSpec{Limits: &v1beta1.RoleLimits{MaxIterations: 20, MaxDurationSeconds: 300, MaxCostMicros: 7}}}
	strict := &v1beta1.TaskLimits{MaxIterations: ptr.To[int32](2), MaxDurationSeconds: ptr.To[int32](900), MaxTotalTokens: ptr.To[int64](50)}
	for name, test := range map[string]struct {
		task *v1beta1.TaskLimits
		top  bool
		want v1beta1.AgentLimits
	}{
		"a child without limits":           {nil, false, v1beta1.AgentLimits{MaxIterations: 20, MaxDurationSeconds: 300, MaxDepth: 2, MaxCostMicros: 7}},
		"a standalone task without limits": {nil, true, v1beta1.AgentLimits{MaxIterations: 20, MaxDurationSeconds: 300, MaxDepth: 2, MaxCostMicros: 7, MaxTasks: 100, MaxTotalTokens: 2_000_000}},
		"tighter in part":                  {strict, true, v1beta1.AgentLimits{MaxIterations: 2, MaxDurationSeconds: 300, MaxDepth: 2, MaxCostMicros: 7, MaxTasks: 100, MaxTotalTokens: 50}},
	} {
		if diff := cmp.Diff(test.want, OfTask(coder, test.task, 2, test.top)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
