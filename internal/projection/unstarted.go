// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/conditions"
)

// ChatPending returns the status of a chat that has not started. The condition names the missing reference.
func ChatPending(old v1beta1.AgentChatStatus, c metav1.Condition, at agent.Time) v1beta1.AgentChatStatus {
	status := *old.DeepCopy()
	status.ObservedGeneration = c.ObservedGeneration
	status.Phase = v1beta1.ChatIdle
	status.Conditions = withCondition(status.Conditions, "AgentChat", c, at)
	return status
}

// ChatHistoryLost returns the status of a chat that had started and whose history cannot be read. The condition has the
// cause.
func ChatHistoryLost(old v1beta1.AgentChatStatus, c metav1.Condition, at agent.Time) v1beta1.AgentChatStatus {
	status := ChatPending(old, c, at)
	status.Waiting = nil
	status.Conditions = conditions.Without(status.Conditions, v1beta1.ConditionReconciling)
	return status
}

// Outage is the reason and message of a condition that shows why the ledger blocks an object.
type Outage struct{ Reason, Message string }

// ChatInterrupted returns the status of a chat during an outage: the next one, with the conditions from before the
// outage and one for the outage. The generation in effect stays: nothing can take effect without the ledger.
func ChatInterrupted(next v1beta1.AgentChatStatus, shown []metav1.Condition, o Outage, generation int64, at agent.Time) v1beta1.AgentChatStatus {
	status := *next.DeepCopy()
	status.Phase = cmp.Or(status.Phase, v1beta1.ChatIdle)
	status.Conditions = withCondition(shown, "AgentChat", metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse,
		Reason: o.Reason, Message: o.Message, ObservedGeneration: generation}, at)
	return status
}
