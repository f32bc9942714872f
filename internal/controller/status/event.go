// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/conditions"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// maxNote bounds the text of an Event in characters; the API allows 1024 bytes.
const maxNote = 256

// recordEvent emits an Event for a status change that a person may act on: a chat or task waits for them, has a missing
// reference, or failed. Progress and success emit no Events, because each costs a write. The task of a sub-agent gets
// the Event.
func (w *Writer) recordEvent(before, after runtime.Object) {
	_, old := conditionOf(before)
	if kind, now := conditionOf(after); now != nil {
		w.record(after, kind, "Run", old, *now)
	}
}

// conditionOf returns the condition that summarizes the state of a chat, task or evaluation.
func conditionOf(object runtime.Object) (kind string, main *metav1.Condition) {
	switch o := object.(type) {
	case *v1beta1.AgentChat:
		return "AgentChat", meta.FindStatusCondition(o.Status.Conditions, v1beta1.ConditionReady)
	case *v1beta1.AgentEvaluation:
		return "AgentEvaluation", meta.FindStatusCondition(o.Status.Conditions, v1beta1.ConditionReady)
	case *v1beta1.AgentTask:
		return "AgentTask", meta.FindStatusCondition(o.Status.Conditions, v1beta1.ConditionSucceeded)
	}
	return "", nil
}

// record emits an Event for the main condition of an object, if the table of conditions has one for it and it says
// something new.
func (w *Writer) record(object runtime.Object, kind, action string, old *metav1.Condition, now metav1.Condition) {
	if w.Events == nil || !worthAnEvent(old, now) {
		return
	}
	if _, state, _ := conditions.Find(kind, now); state.Event != "" {
		w.Events.Eventf(object, nil, state.Event, now.Reason, action, "%s", shorten.UntrustedLine(noteOf(object, now), maxNote))
	}
}

// worthAnEvent reports whether a condition says something new. A second question that follows the first one differs
// only in its message.
func worthAnEvent(old *metav1.Condition, now metav1.Condition) bool {
	if old == nil || old.Status != now.Status || old.Reason != now.Reason {
		return true
	}
	asks := now.Reason == v1beta1.ReasonWaitingForUser || now.Reason == v1beta1.ReasonWaitingForApproval
	return asks && old.Message != now.Message
}

// noteOf returns the text of the Event for a condition. It is that of the condition, but without the arguments of a
// call: log collectors copy Events to places where conversations do not belong.
func noteOf(object runtime.Object, c metav1.Condition) string {
	if c.Reason == v1beta1.ReasonWaitingForApproval {
		return "Approve or deny" + waitingTool(object)
	}
	return cmp.Or(c.Message, c.Reason)
}

// waitingTool returns the tool whose call waits for a decision, and the command that shows and approves the call.
func waitingTool(object runtime.Object) string {
	task, ok := object.(*v1beta1.AgentTask)
	if !ok || task.Status.Waiting == nil {
		return ": kubectl nestor approve"
	}
	return " a call of " + task.Status.Waiting.Tool + ": kubectl nestor approve " + task.Name
}
