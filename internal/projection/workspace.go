// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/conditions"
)

// NotKept describes changes of a workspace that were not kept.
type NotKept struct {
	TooLarge bool
	Message  string
}

// ShowNotKept sets the condition WorkspaceChangesLost of a chat or task, or removes it for nil.
func ShowNotKept(object metav1.Object, n *NotKept, at time.Time) {
	switch o := object.(type) {
	case *v1beta1.AgentChat:
		o.Status.Conditions = withNotKept(o.Status.Conditions, "AgentChat", n, o.Generation, at)
	case *v1beta1.AgentTask:
		o.Status.Conditions = withNotKept(o.Status.Conditions, "AgentTask", n, o.Generation, at)
	}
}

func withNotKept(all []metav1.Condition, kind string, n *NotKept, generation int64, at time.Time) []metav1.Condition {
	if n == nil {
		return conditions.Without(all, v1beta1.ConditionWorkspaceChangesLost)
	}
	c := metav1.Condition{Type: v1beta1.ConditionWorkspaceChangesLost, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonWorkspaceNotKept,
		ObservedGeneration: generation, Message: n.Message}
	if n.TooLarge {
		c.Reason = v1beta1.ReasonWorkspaceTooLarge
	}
	return withCondition(all, kind, c, agent.Time(at.UnixMilli()))
}
