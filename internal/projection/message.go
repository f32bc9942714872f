// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// maxPreview bounds the preview of a message, which is a column of kubectl get.
const maxPreview = 44

// preview returns the beginning of a message in one line. A rejected message begins with the reason.
func preview(spec v1beta1.AgentMessageSpec, phase v1beta1.MessagePhase, reason string) string {
	text := messageText(spec)
	if phase == v1beta1.MessageRejected {
		text = reason + ": " + text
	}
	return shorten.UntrustedLine(text, maxPreview)
}

func messageText(spec v1beta1.AgentMessageSpec) string {
	switch {
	case spec.Approval != nil:
		text := string(spec.Approval.Decision) + " a call of " + spec.Approval.Task
		if spec.Approval.Comment != "" {
			text += ": " + spec.Approval.Comment
		}
		return text
	case spec.Revoke != nil:
		return "Revoke " + spec.Revoke.Allowance
	case spec.Cancel != nil && spec.Cancel.Task != "":
		return "Cancel " + spec.Cancel.Task
	case spec.Cancel != nil:
		return "Cancel everything"
	}
	return spec.Content
}

// Message returns the status of a message in a phase, with the reason and the text for people.
func Message(m *v1beta1.AgentMessage, phase v1beta1.MessagePhase, reason, text string, at agent.Time) v1beta1.AgentMessageStatus {
	c := metav1.Condition{Type: v1beta1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: reason, Message: text, ObservedGeneration: m.Generation}
	switch phase {
	case v1beta1.MessageHandled:
		c.Status = metav1.ConditionTrue
	case v1beta1.MessageRejected:
		c.Status = metav1.ConditionFalse
	}
	status := *m.Status.DeepCopy()
	status.Phase, status.Reason, status.Conditions = phase, reason, withCondition(status.Conditions, "AgentMessage", c, at)
	status.Preview = preview(m.Spec, phase, reason)
	return status
}
