// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// maxNote bounds the text of an Event in characters; the API allows 1024 bytes.
const maxNote = 256

// recordEvent emits an Event for a status change that a person may act on: an object waits for them, has a missing reference, or failed.
// Progress and success emit no Events, because each costs a write.
func (w *Writer) recordEvent(before, after runtime.Object) {
	old, now := conditionOf(before), conditionOf(after)
	if w.Events == nil || now == nil || !worthAnEvent(old, *now) {
		return
	}
	if kind, note := eventOf(after, *now); note != "" {
		w.Events.Eventf(after, nil, kind, now.Reason, "Run", "%s", shorten.UntrustedLine(note, maxNote))
	}
}

// recordNotReady emits an Event if a provider or tool server cannot be used, or for another reason than before.
func (w *Writer) recordNotReady(object runtime.Object, old *metav1.Condition, now metav1.Condition) {
	if w.Events == nil || now.Status != metav1.ConditionFalse || !worthAnEvent(old, now) {
		return
	}
	w.Events.Eventf(object, nil, corev1.EventTypeWarning, now.Reason, "Check", "%s", shorten.UntrustedLine(cmp.Or(now.Message, now.Reason), maxNote))
}

// worthAnEvent reports whether a condition says something new. A second question that follows the first one differs only in its message.
func worthAnEvent(old *metav1.Condition, now metav1.Condition) bool {
	if old == nil || old.Status != now.Status || old.Reason != now.Reason {
		return true
	}
	asks := now.Reason == v1beta1.ReasonWaitingForUser || now.Reason == v1beta1.ReasonWaitingForApproval
	return asks && old.Message != now.Message
}

// conditionOf returns the condition that summarizes the state of an object.
func conditionOf(object runtime.Object) *metav1.Condition {
	switch o := object.(type) {
	case *v1beta1.AgentChat:
		return meta.FindStatusCondition(o.Status.Conditions, v1beta1.ConditionReady)
	case *v1beta1.AgentTask:
		return meta.FindStatusCondition(o.Status.Conditions, v1beta1.ConditionSucceeded)
	}
	return nil // the task of a sub-agent gets the Event
}

// eventOf returns the type and the text of the Event for a condition, or no text if no person needs to act. The text is that of the
// condition, but without the arguments of a call: log collectors copy Events to places where conversations do not belong.
func eventOf(object runtime.Object, c metav1.Condition) (kind, note string) {
	switch c.Reason {
	case v1beta1.ReasonWaitingForUser:
		return corev1.EventTypeNormal, c.Message
	case v1beta1.ReasonWaitingForApproval:
		return corev1.EventTypeNormal, "Approve or deny" + waitingTool(object)
	case string(v1beta1.ErrorCancelled):
		return corev1.EventTypeNormal, cmp.Or(c.Message, "The work was cancelled.")
	case v1beta1.ReasonParallelLimit, v1beta1.ReasonPending, v1beta1.ReasonRunning, v1beta1.ReasonSuccess, v1beta1.ReasonReady:
		return "", ""
	}
	return corev1.EventTypeWarning, cmp.Or(c.Message, c.Reason)
}

// waitingTool returns the tool whose call waits for a decision, and the command that shows and approves the call.
func waitingTool(object runtime.Object) string {
	task, ok := object.(*v1beta1.AgentTask)
	if !ok || task.Status.Waiting == nil {
		return ": kubectl nestor approve"
	}
	return " a call of " + task.Status.Waiting.Tool + ": kubectl nestor approve " + task.Name
}
