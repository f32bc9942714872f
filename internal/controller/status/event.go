// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// recordEvent emits an Event for a status change that a person may act on: an object waits for them, has a missing reference, or failed.
// Progress and success emit no Events, because each costs a write. The texts contain nothing that a model or tool produced.
func (w *Writer) recordEvent(before, after runtime.Object) {
	old, now := conditionOf(before), conditionOf(after)
	if now == nil || (old != nil && old.Status == now.Status && old.Reason == now.Reason) {
		return
	}
	kind, note, ok := eventOf(*now)
	if ok && w.Events != nil {
		w.Events.Eventf(after, nil, kind, now.Reason, "Run", note)
	}
}

// conditionOf returns the condition that summarizes the state of an object.
func conditionOf(object runtime.Object) *metav1.Condition {
	switch o := object.(type) {
	case *v1alpha1.AgentChat:
		return meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionReady)
	case *v1alpha1.AgentTask:
		return meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionSucceeded)
	}
	return nil // the task of a sub-agent gets the Event
}

func eventOf(c metav1.Condition) (kind, note string, ok bool) {
	switch c.Reason {
	case v1alpha1.ReasonWaitingForUser:
		return corev1.EventTypeNormal, "An agent waits for an answer: see status.waiting.", true
	case v1alpha1.ReasonAwaitingApproval:
		return corev1.EventTypeNormal, "A call waits for a decision: see status.waiting.", true
	case string(v1alpha1.ErrorCancelled):
		return corev1.EventTypeNormal, "The work was cancelled.", true
	case v1alpha1.ReasonParallelLimit, v1alpha1.ReasonPending, v1alpha1.ReasonRunning, v1alpha1.ReasonSucceeded, v1alpha1.ReasonReady:
		return "", "", false
	}
	if c.Type == v1alpha1.ConditionSucceeded && c.Status == metav1.ConditionFalse {
		return corev1.EventTypeWarning, "The work failed: see status.error.", true
	}
	return corev1.EventTypeWarning, "The object cannot continue: see status.conditions.", true
}
