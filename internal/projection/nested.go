// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// Nested adds an ask of an agent below a running standalone task to the task's status. Asks of the task's own agent take precedence, and
// the status of an ended task does not change.
func Nested(status v1alpha1.AgentTaskStatus, asking string, ask agent.AskPerson, since agent.Time, generation int64) v1alpha1.AgentTaskStatus {
	if status.Phase != v1alpha1.TaskRunning {
		return status
	}
	text := ask.Text
	c := metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, ObservedGeneration: generation}
	waiting := &v1alpha1.Waiting{Kind: v1alpha1.WaitingQuestion, SubAgent: asking, ToolCall: ask.Call, Since: moment(since)}
	c.Reason, c.Message = v1alpha1.ReasonWaitingForUser, "Answer the sub-agent "+asking+" with an AgentMessage to this task: "+text
	if ask.Kind == agent.AskApproval {
		text = ask.Tool + " " + ask.Arguments
		waiting.Kind, waiting.ArgumentsDigest, waiting.Separation = v1alpha1.WaitingApproval, ask.Digest(), ask.Separation
		c.Reason, c.Message = v1alpha1.ReasonAwaitingApproval, "Decide for the sub-agent "+asking+" with an AgentMessage to this task about: "+text
	}
	waiting.Text = shorten.Head(text, maxWaitingText)
	status.Phase, status.Waiting = v1alpha1.TaskWaiting, waiting
	status.Conditions = withCondition(status.Conditions, c, since)
	return status
}
