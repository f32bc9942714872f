// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// TestObjects_StuckRuns: a run that is active for longer than its limit without a change, and one that waits for
// nothing.
func TestObjects_StuckRuns(t *testing.T) {
	running := metav1.Condition{Type: v1beta1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: v1beta1.ReasonRunning, ObservedGeneration: 1}
	pending := running
	pending.Reason = v1beta1.ReasonPending
	agent := func(phase v1beta1.SubAgentPhase, condition metav1.Condition, limit, changed time.Duration) client.Object {
		at := metav1.NewTime(time.Now().Add(-changed))
		return &v1beta1.SubAgent{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "job", Generation: 1, CreationTimestamp: metav1.NewTime(time.Now().Add(-24 * time.Hour)),
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "nestor-operator", Operation: metav1.ManagedFieldsOperationUpdate, Time: &at,
					APIVersion: v1beta1.GroupVersion.String(), FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}"), Subresource: "status"}}},
			Spec:   v1beta1.SubAgentSpec{Task: "job", Limits: v1beta1.AgentLimits{MaxDurationSeconds: int32(limit.Seconds())}},
			Status: v1beta1.SubAgentStatus{Phase: phase, Conditions: []metav1.Condition{condition}},
		}
	}
	task := func(phase v1beta1.TaskPhase, subAgent string, age time.Duration) client.Object {
		at := metav1.NewTime(time.Now().Add(-age))
		return &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "job", Generation: 1, CreationTimestamp: at},
			Status: v1beta1.AgentTaskStatus{Phase: phase, SubAgent: subAgent, Conditions: []metav1.Condition{running}}}
	}
	for name, test := range map[string]struct {
		object client.Object
		want   string
	}{
		"an agent beyond its limit":       {agent(v1beta1.SubAgentActive, running, time.Minute, time.Hour), "SubAgent job is stuck: it has made no progress for 1h0m"},
		"an agent with progress":          {agent(v1beta1.SubAgentActive, running, time.Minute, time.Minute), ""},
		"an agent within its limit":       {agent(v1beta1.SubAgentActive, running, time.Hour, time.Hour), ""},
		"an agent that waits for others":  {agent(v1beta1.SubAgentWaitingForSubAgents, running, time.Minute, time.Hour), ""},
		"an agent that begins again":      {agent(v1beta1.SubAgentPending, pending, time.Minute, time.Minute), ""},
		"an agent that waits for nothing": {agent(v1beta1.SubAgentPending, pending, time.Minute, time.Hour), "SubAgent job: Pending"},
		"a tool that does not end":        {task(v1beta1.TaskRunning, "", 48*time.Hour), "AgentTask job is stuck"},
		"a tool that runs":                {task(v1beta1.TaskRunning, "", time.Hour), ""},
		"a task of an agent":              {task(v1beta1.TaskRunning, "job", 48*time.Hour), ""},
	} {
		findings := examine(t, test.object)
		switch {
		case test.want == "" && len(findings) > 0:
			t.Errorf("%s: %v", name, findings)
		case test.want != "" && (len(findings) != 1 || Healthy(findings) || !strings.HasPrefix(findings[0].Message, test.want)):
			t.Errorf("%s: %v, want %s", name, findings, test.want)
		}
	}
}
