// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// maxKeptText bounds the message of the condition WorkspaceKept.
const maxKeptText = 1024

// NotKept describes changes of a workspace that were not kept.
type NotKept struct {
	TooLarge bool
	Message  string
}

// ShowNotKept sets the condition WorkspaceKept of a chat or task, or removes it for nil.
func ShowNotKept(object metav1.Object, n *NotKept, at time.Time) {
	switch o := object.(type) {
	case *v1alpha1.AgentChat:
		o.Status.Conditions = withNotKept(o.Status.Conditions, n, o.Generation, at)
	case *v1alpha1.AgentTask:
		o.Status.Conditions = withNotKept(o.Status.Conditions, n, o.Generation, at)
	}
}

func withNotKept(conditions []metav1.Condition, n *NotKept, generation int64, at time.Time) []metav1.Condition {
	if n == nil {
		return slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool { return c.Type == v1alpha1.ConditionWorkspaceKept })
	}
	c := metav1.Condition{Type: v1alpha1.ConditionWorkspaceKept, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonWorkspaceNotKept,
		ObservedGeneration: generation, Message: shorten.Head(n.Message, maxKeptText)}
	if n.TooLarge {
		c.Reason = v1alpha1.ReasonWorkspaceTooLarge
	}
	return withCondition(conditions, c, agent.Time(at.UnixMilli()))
}
