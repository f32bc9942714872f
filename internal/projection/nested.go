// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// ShowAsk shows an ask of an agent below a running standalone task. Asks of the task's own agent take precedence, and the status of an
// ended task does not change.
func (r Run) ShowAsk(asking string, ask agent.AskPerson, since agent.Time) {
	if r.Task == nil || r.Task.Status.Phase != v1alpha1.TaskRunning {
		return
	}
	text, reason := ask.Text, v1alpha1.ReasonWaitingForUser
	message := "Answer the sub-agent " + asking + " with an AgentMessage to this task: "
	waiting := &v1alpha1.Waiting{Kind: v1alpha1.WaitingQuestion, SubAgent: asking, ToolCall: ask.Call, Since: moment(since)}
	if ask.Kind == agent.AskApproval {
		text, reason = ask.Tool+" "+ask.Arguments, v1alpha1.ReasonAwaitingApproval
		message = "Decide for the sub-agent " + asking + " with an AgentMessage to this task about: "
		waiting.Kind, waiting.ArgumentsDigest, waiting.Separation = v1alpha1.WaitingApproval, ask.Digest(), ask.Separation
	}
	waiting.Text = shorten.Head(text, maxWaitingText)
	r.Task.Status.Phase, r.Task.Status.Waiting = v1alpha1.TaskWaiting, waiting
	r.setSucceeded(metav1.ConditionUnknown, reason, message+text, since)
}
