// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// Outage is the reason and message of a condition that shows why the ledger blocks an object.
type Outage struct{ Reason, Message string }

// The status of an object during an outage of the ledger is its next status, with the conditions from before the outage and a condition for
// the outage.

// ChatInterrupted returns the status of a chat during an outage.
func ChatInterrupted(next v1alpha1.AgentChatStatus, shown []metav1.Condition, o Outage, generation int64, at agent.Time) v1alpha1.AgentChatStatus {
	status := *next.DeepCopy()
	status.Phase = cmp.Or(status.Phase, v1alpha1.ChatIdle)
	status.Conditions = withCondition(shown, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse,
		Reason: o.Reason, Message: o.Message, ObservedGeneration: generation}, at)
	return status
}

// SubAgentInterrupted returns the status of a sub-agent during an outage.
func SubAgentInterrupted(next v1alpha1.SubAgentStatus, shown []metav1.Condition, o Outage, generation int64, at agent.Time) v1alpha1.SubAgentStatus {
	status := *next.DeepCopy()
	status.Phase = cmp.Or(status.Phase, v1alpha1.SubAgentPending)
	status.Conditions = withCondition(shown, o.ofRun(generation), at)
	return status
}

// TaskInterrupted returns the status of a task during an outage.
func TaskInterrupted(next v1alpha1.AgentTaskStatus, shown []metav1.Condition, o Outage, generation int64, at agent.Time) v1alpha1.AgentTaskStatus {
	status := *next.DeepCopy()
	status.Phase = cmp.Or(status.Phase, v1alpha1.TaskPending)
	status.Conditions = withCondition(shown, o.ofRun(generation), at)
	return status
}

func (o Outage) ofRun(generation int64) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: o.Reason, Message: o.Message, ObservedGeneration: generation}
}
