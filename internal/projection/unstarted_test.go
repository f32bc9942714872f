// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
)

const unstartedAt agent.Time = 7000

func condition(kind string, status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: 3, LastTransitionTime: *moment(unstartedAt)}}
}

func TestChatsAndMessagesWithoutAState(t *testing.T) {
	missing := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRoleNotFound, Message: "Create the role.", ObservedGeneration: 3}
	down := Outage{Reason: v1alpha1.ReasonLedgerQuota, Message: "It is full."}
	created := metav1.NewTime(moment(1000).Time)
	green := &v1alpha1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Spec: v1alpha1.AgentMessageSpec{Content: "Green"}}
	for name, tc := range map[string]struct{ got, want any }{
		"a chat that waits": {ChatPending(v1alpha1.AgentChatStatus{Messages: 2}, missing, unstartedAt),
			v1alpha1.AgentChatStatus{Phase: v1alpha1.ChatIdle, Messages: 2, Conditions: condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonRoleNotFound, "Create the role.")}},
		"a chat whose history is lost": {ChatHistoryLost(v1alpha1.AgentChatStatus{Phase: v1alpha1.ChatWaiting, Waiting: []v1alpha1.ChatWaitingItem{{}}}, created, missing, unstartedAt),
			v1alpha1.AgentChatStatus{Phase: v1alpha1.ChatIdle, StartTime: &created, Conditions: condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonRoleNotFound, "Create the role.")}},
		"a chat in an outage": {ChatInterrupted(v1alpha1.AgentChatStatus{}, nil, down, 3, unstartedAt),
			v1alpha1.AgentChatStatus{Phase: v1alpha1.ChatIdle, Conditions: condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonLedgerQuota, "It is full.")}},
		"a message that waits": {Message(green, v1alpha1.MessagePending, "Delivered", "It waits.", unstartedAt),
			v1alpha1.AgentMessageStatus{Phase: v1alpha1.MessagePending, Reason: "Delivered", Preview: "Green", Conditions: condition(v1alpha1.ConditionSucceeded, metav1.ConditionUnknown, "Delivered", "It waits.")}},
		"a message that was handled": {Message(green, v1alpha1.MessageHandled, v1alpha1.ReasonHandled, "Done.", unstartedAt),
			v1alpha1.AgentMessageStatus{Phase: v1alpha1.MessageHandled, Reason: v1alpha1.ReasonHandled, Preview: "Green", Conditions: condition(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonHandled, "Done.")}},
		"a message that was rejected": {Message(green, v1alpha1.MessageRejected, v1alpha1.ReasonNotWaiting, "No.", unstartedAt),
			v1alpha1.AgentMessageStatus{Phase: v1alpha1.MessageRejected, Reason: v1alpha1.ReasonNotWaiting, Preview: "NotWaiting: Green", Conditions: condition(v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonNotWaiting, "No.")}},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRunsWithoutAState(t *testing.T) {
	const kind = v1alpha1.ConditionSucceeded
	cancelled := v1alpha1.RunError{Kind: v1alpha1.ErrorCancelled, Message: "It was cancelled."}
	invalid := v1alpha1.RunError{Kind: v1alpha1.ErrorInvalidSpec, Message: strings.Repeat("x", maxErrorMessage+1)}
	cut := v1alpha1.RunError{Kind: v1alpha1.ErrorInvalidSpec, Message: strings.Repeat("x", maxErrorMessage-1) + "…"}
	interrupt := func(r Run) {
		r.Interrupt(nil, Outage{Reason: v1alpha1.ReasonLedgerQuota, Message: "It is full."}, unstartedAt)
	}
	waits := condition(kind, metav1.ConditionUnknown, v1alpha1.ReasonRoleNotFound, "Create the role.")
	full := condition(kind, metav1.ConditionUnknown, v1alpha1.ReasonLedgerQuota, "It is full.")
	for name, tc := range map[string]struct {
		change func(Run)
		sub    v1alpha1.SubAgentStatus
		task   v1alpha1.AgentTaskStatus
	}{
		// A status that is computed again later must equal the written one, or every reconcile would write it again.
		"wait": {func(r Run) {
			r.Wait(v1alpha1.ReasonRoleNotFound, "Create the role.", unstartedAt)
			r.Wait(v1alpha1.ReasonRoleNotFound, "Create the role.", unstartedAt+5000)
		}, v1alpha1.SubAgentStatus{Phase: v1alpha1.SubAgentPending, Conditions: waits}, v1alpha1.AgentTaskStatus{Phase: v1alpha1.TaskPending, Conditions: waits}},
		"an outage": {interrupt, v1alpha1.SubAgentStatus{Phase: v1alpha1.SubAgentPending, Conditions: full}, v1alpha1.AgentTaskStatus{Phase: v1alpha1.TaskPending, Conditions: full}},
		"an outage keeps the phase": {func(r Run) {
			r.setPhase(agent.StageActive, "")
			interrupt(r)
		}, v1alpha1.SubAgentStatus{Phase: v1alpha1.SubAgentActive, Conditions: full}, v1alpha1.AgentTaskStatus{Phase: v1alpha1.TaskRunning, Conditions: full}},
		"a cancellation": {func(r Run) {
			if r.Task != nil {
				r.Task.Status.Waiting = &v1alpha1.Waiting{}
			} else {
				r.SubAgent.Status.Question = "Which?"
			}
			r.Fail(cancelled, unstartedAt)
		}, v1alpha1.SubAgentStatus{Phase: v1alpha1.SubAgentFailed, Error: &cancelled, CompletionTime: moment(unstartedAt), Conditions: condition(kind, metav1.ConditionFalse, "Cancelled", cancelled.Message)},
			v1alpha1.AgentTaskStatus{Phase: v1alpha1.TaskCancelled, Error: &cancelled, CompletionTime: moment(unstartedAt), Conditions: condition(kind, metav1.ConditionFalse, "Cancelled", cancelled.Message)}},
		"a failure with a long message": {func(r Run) { r.Fail(invalid, unstartedAt) },
			v1alpha1.SubAgentStatus{Phase: v1alpha1.SubAgentFailed, Error: &cut, CompletionTime: moment(unstartedAt), Conditions: condition(kind, metav1.ConditionFalse, "InvalidSpec", cut.Message)},
			v1alpha1.AgentTaskStatus{Phase: v1alpha1.TaskFailed, Error: &cut, CompletionTime: moment(unstartedAt), Conditions: condition(kind, metav1.ConditionFalse, "InvalidSpec", cut.Message)}},
	} {
		sub, task := shown(Work{})
		tc.change(SubAgentRun(sub))
		tc.change(TaskRun(task))
		if diff := cmp.Diff(tc.sub, sub.Status); diff != "" {
			t.Errorf("%s of a sub-agent (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tc.task, task.Status); diff != "" {
			t.Errorf("%s of a task (-want +got):\n%s", name, diff)
		}
	}
}
