// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// ShowAsk shows an ask of an agent below a running standalone task. Asks of the task's own agent take precedence, and
// the status of an ended task does not change.
func (r Run) ShowAsk(asking string, ask agent.AskPerson, since agent.Time) {
	if r.Task == nil || r.Task.Status.Phase != v1beta1.TaskRunning {
		return
	}
	text, reason := ask.Text, v1beta1.ReasonWaitingForUser
	message := "Answer the sub-agent " + asking + " with an AgentMessage to this task: "
	waiting := &v1beta1.Waiting{Kind: v1beta1.WaitingQuestion, SubAgent: asking, Text: shorten.Head(text, maxWaitingText), ToolCall: ask.Call, StartTime: moment(since)}
	if ask.Kind == agent.AskApproval {
		text, reason = ask.Tool+" "+ask.Arguments, v1beta1.ReasonWaitingForApproval
		message = "Decide for the sub-agent " + asking + " with an AgentMessage to this task about: "
		waiting.DenyRequesters, waiting.Editable, waiting.ExpireTime = ask.DenyRequesters, ask.Editable, moment(ask.ExpireTime)
		setCall(waiting, ask.Tool, ask.Arguments)
		waiting.PolicyReasons = reasons(ask.Policy)
	}
	r.Task.Status.Phase, r.Task.Status.Waiting = v1beta1.TaskWaiting, waiting
	r.setSucceeded(metav1.ConditionUnknown, reason, message+text, since)
}
