// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/conditions"
	"github.com/nestor-dev/nestor/test/jsontext"
)

// problems returns the contradictions in the statuses of all objects of the room.
func (r *testNamespace) problems(ctx context.Context) ([]string, error) {
	var all []string
	for _, list := range kinds() {
		if err := r.API.List(ctx, list, r.inNamespace()); err != nil {
			return nil, err
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			for _, complaint := range lint(object) {
				all = append(all, fmt.Sprintf("%T %s: %s", object, object.GetName(), complaint))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func lint(object client.Object) []string {
	s, _ := statusOf(object)
	main := meta.FindStatusCondition(s.conditions, s.condition)
	if main == nil {
		return []string{"has no condition " + s.condition}
	}
	wrong := append(lintRoot(object), lintStalled(object, s.conditions, main)...)
	texts, err := jsontext.Find(object)
	if err != nil {
		return []string{err.Error()}
	}
	for _, text := range texts {
		wrong = append(wrong, "the status has JSON in a string: "+text)
	}
	for _, c := range s.conditions {
		wrong = append(wrong, lintCondition(strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1beta1."), c, object.GetGeneration())...)
	}
	switch o := object.(type) {
	case *v1beta1.AgentChat:
		return append(wrong, lintChat(o, main)...)
	case *v1beta1.AgentMessage:
		return append(wrong, lintMessage(o, main)...)
	case *v1beta1.AgentTask:
		return append(wrong, lintTask(o, main)...)
	case *v1beta1.SubAgent:
		return append(wrong, lintSubAgent(o, main)...)
	}
	return wrong
}

// lintRoot checks the label of an object that the operator created in a tree, or that it has adopted.
func lintRoot(object client.Object) []string {
	var l problemList
	owner, root := metav1.GetControllerOf(object), object.GetLabels()[v1beta1.LabelRoot]
	if owner == nil {
		return nil
	}
	switch owner.Kind {
	case "AgentChat":
		l.when(root != string(owner.UID), "the label of its root is %q, and its chat is %s", root, owner.UID)
	case "AgentTask", "SubAgent":
		l.when(root == "", "has no label of its root")
	}
	return l
}

// lintStalled checks that Stalled is there exactly while the table requires it, and that nothing reconciles what has ended.
func lintStalled(object client.Object, all []metav1.Condition, main *metav1.Condition) []string {
	var l problemList
	_, state, _ := conditions.Find(strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1beta1."), *main)
	stalled := meta.FindStatusCondition(all, v1beta1.ConditionStalled)
	l.when(state.Stalled != (stalled != nil), "%s=%s %s with the condition Stalled %v", main.Type, main.Status, main.Reason, stalled)
	l.when(stalled != nil && (stalled.Reason != main.Reason || stalled.Message != main.Message), "Stalled %v and %s %v differ", stalled, main.Type, main)
	ended := main.Type == v1beta1.ConditionSucceeded && main.Status != metav1.ConditionUnknown
	l.when(ended && meta.FindStatusCondition(all, v1beta1.ConditionReconciling) != nil, "Reconciling with Succeeded %s", main.Status)
	return l
}

func lintCondition(kind string, c metav1.Condition, generation int64) []string {
	var l problemList
	_, _, listed := conditions.Find(kind, c)
	l.when(!listed, "%s has the condition %s=%s with the reason %s, which is not in api/v1beta1/conditions.yaml", kind, c.Type, c.Status, c.Reason)
	l.when(c.ObservedGeneration == 0, "condition %s has no observedGeneration", c.Type)
	l.when(c.ObservedGeneration > generation, "condition %s observed generation %d of %d", c.Type, c.ObservedGeneration, generation)
	l.when(c.Message == "", "condition %s (%s) has no message", c.Type, c.Reason)
	l.when(c.LastTransitionTime.IsZero(), "condition %s has no lastTransitionTime", c.Type)
	return l
}

func lintChat(chat *v1beta1.AgentChat, ready *metav1.Condition) []string {
	var l problemList
	waits := len(chat.Status.Waiting) > 0
	l.when(waits != (chat.Status.Phase == v1beta1.ChatWaiting), "phase %s with %d waiting", chat.Status.Phase, len(chat.Status.Waiting))
	good := ready.Reason == v1beta1.ReasonReady || strings.HasPrefix(ready.Reason, "Paused")
	l.when((ready.Status == metav1.ConditionTrue) != good, "Ready is %s with reason %s", ready.Status, ready.Reason)
	for _, item := range chat.Status.Waiting {
		l.when(item.Text == "" || item.StartTime == nil, "waits for %s without text or time", item.Task)
	}
	return l
}

func lintMessage(message *v1beta1.AgentMessage, succeeded *metav1.Condition) []string {
	var l problemList
	want := map[v1beta1.MessagePhase]metav1.ConditionStatus{
		v1beta1.MessagePending: metav1.ConditionUnknown, v1beta1.MessageHandled: metav1.ConditionTrue, v1beta1.MessageRejected: metav1.ConditionFalse,
	}[message.Status.Phase]
	l.when(succeeded.Status != want, "phase %q with Succeeded %s", message.Status.Phase, succeeded.Status)
	l.when(message.Status.Reason != succeeded.Reason, "reason %s with Succeeded's %s", message.Status.Reason, succeeded.Reason)
	return l
}

func lintTask(task *v1beta1.AgentTask, succeeded *metav1.Condition) []string {
	status := task.Status
	var l problemList
	want, terminal := metav1.ConditionUnknown, true
	switch status.Phase {
	case v1beta1.TaskSuccess:
		want = metav1.ConditionTrue
	case v1beta1.TaskFailed, v1beta1.TaskCancelled:
		want = metav1.ConditionFalse
	default:
		terminal = false
	}
	l.when(succeeded.Status != want, "phase %q with Succeeded %s", status.Phase, succeeded.Status)
	l.when((status.CompletionTime != nil) != terminal, "phase %s with completionTime %v", status.Phase, status.CompletionTime)
	l.when((status.Waiting != nil) != (status.Phase == v1beta1.TaskWaiting), "phase %s with waiting %v", status.Phase, status.Waiting)
	l.when((status.Phase == v1beta1.TaskCancelled) != (status.Error != nil && status.Error.Kind == v1beta1.ErrorCancelled), "phase %s with error %v", status.Phase, status.Error)
	l.run(want, succeeded, status.Error, status.Result, status.StartTime, status.CompletionTime)
	return l
}

func lintSubAgent(sub *v1beta1.SubAgent, succeeded *metav1.Condition) []string {
	status := sub.Status
	var l problemList
	want, terminal := metav1.ConditionUnknown, true
	switch status.Phase {
	case v1beta1.SubAgentCompleted:
		want = metav1.ConditionTrue
	case v1beta1.SubAgentFailed, v1beta1.SubAgentCancelled:
		want = metav1.ConditionFalse
	default:
		terminal = false
	}
	l.when(succeeded.Status != want, "phase %q with Succeeded %s", status.Phase, succeeded.Status)
	l.when((status.CompletionTime != nil) != terminal, "phase %s with completionTime %v", status.Phase, status.CompletionTime)
	l.when((status.Question != "") && status.Phase != v1beta1.SubAgentWaitingForUser && status.Phase != v1beta1.SubAgentWaitingForApproval,
		"phase %s with the question %q", status.Phase, status.Question)
	l.when(terminal && status.Children.Pending != 0, "phase %s with %d pending children", status.Phase, status.Children.Pending)
	l.when(status.BailoutReason != "" && status.Phase == v1beta1.SubAgentCompleted, "a success that reached a limit: %s", status.BailoutReason)
	l.run(want, succeeded, status.Error, status.Result, status.StartTime, status.CompletionTime)
	return l
}

type problemList []string

func (l *problemList) when(wrong bool, format string, args ...any) {
	if wrong {
		*l = append(*l, fmt.Sprintf(format, args...))
	}
}

// run checks what tasks and sub-agents have in common.
func (l *problemList) run(want metav1.ConditionStatus, c *metav1.Condition, failure *v1beta1.RunError, result *v1beta1.TaskResult, begun, ended *metav1.Time) {
	l.when((failure != nil) != (want == metav1.ConditionFalse), "Succeeded %s with the error %v", want, failure)
	l.when(failure != nil && (string(failure.Kind) != c.Reason || failure.Message == ""), "the reason %s with the error %v", c.Reason, failure)
	l.when(want == metav1.ConditionTrue && result == nil, "a success without a result")
	l.when(begun != nil && ended != nil && ended.Before(begun), "ended before it began")
}
