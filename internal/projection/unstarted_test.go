// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
)

const unstartedAt agent.Time = 7000

func condition(kind string, status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: 3, LastTransitionTime: *moment(unstartedAt)}}
}

// stalled returns a condition, and Stalled with the same reason and message.
func stalled(kind string, status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return append(condition(kind, status, reason, message), condition(v1beta1.ConditionStalled, metav1.ConditionTrue, reason, message)...)
}

func TestChatsAndMessagesWithoutState(t *testing.T) {
	missing := metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1beta1.ReasonRoleNotFound, Message: "Create the role.", ObservedGeneration: 3}
	down := Outage{Reason: v1beta1.ReasonLedgerQuota, Message: "It is full."}
	created := metav1.NewTime(moment(1000).Time)
	green := &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Spec: v1beta1.AgentMessageSpec{Content: "Green"}}
	for name, tc := range map[string]struct{ got, want any }{
		"a chat that waits": {ChatPending(v1beta1.AgentChatStatus{Messages: 2}, missing, unstartedAt),
			v1beta1.AgentChatStatus{ObservedGeneration: 3, Phase: v1beta1.ChatIdle, Messages: 2, Conditions: stalled(v1beta1.ConditionReady, metav1.ConditionFalse, v1beta1.ReasonRoleNotFound, "Create the role.")}},
		"a chat whose history is lost": {ChatHistoryLost(v1beta1.AgentChatStatus{Phase: v1beta1.ChatWaiting, StartTime: &created, Waiting: []v1beta1.ChatWaitingItem{{}}}, missing, unstartedAt),
			v1beta1.AgentChatStatus{ObservedGeneration: 3, Phase: v1beta1.ChatIdle, StartTime: &created, Conditions: stalled(v1beta1.ConditionReady, metav1.ConditionFalse, v1beta1.ReasonRoleNotFound, "Create the role.")}},
		"a chat in an outage": {ChatInterrupted(v1beta1.AgentChatStatus{ObservedGeneration: 2}, nil, down, 3, unstartedAt),
			v1beta1.AgentChatStatus{ObservedGeneration: 2, Phase: v1beta1.ChatIdle, Conditions: condition(v1beta1.ConditionReady, metav1.ConditionFalse, v1beta1.ReasonLedgerQuota, "It is full.")}},
		"a message that waits": {Message(green, v1beta1.MessagePending, "Delivered", "It waits.", unstartedAt),
			v1beta1.AgentMessageStatus{Phase: v1beta1.MessagePending, Reason: "Delivered", Preview: "Green", Conditions: condition(v1beta1.ConditionSucceeded, metav1.ConditionUnknown, "Delivered", "It waits.")}},
		"a message that was handled": {Message(green, v1beta1.MessageHandled, v1beta1.ReasonHandled, "Done.", unstartedAt),
			v1beta1.AgentMessageStatus{Phase: v1beta1.MessageHandled, Reason: v1beta1.ReasonHandled, Preview: "Green", Conditions: condition(v1beta1.ConditionSucceeded, metav1.ConditionTrue, v1beta1.ReasonHandled, "Done.")}},
		"a message that was rejected": {Message(green, v1beta1.MessageRejected, v1beta1.ReasonNotWaiting, "No.", unstartedAt),
			v1beta1.AgentMessageStatus{Phase: v1beta1.MessageRejected, Reason: v1beta1.ReasonNotWaiting, Preview: "NotWaiting: Green", Conditions: condition(v1beta1.ConditionSucceeded, metav1.ConditionFalse, v1beta1.ReasonNotWaiting, "No.")}},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRunsWithoutAState(t *testing.T) {
	const kind = v1beta1.ConditionSucceeded
	cancelled := v1beta1.RunError{Kind: v1beta1.ErrorCancelled, Message: "It was cancelled."}
	invalid := v1beta1.RunError{Kind: v1beta1.ErrorInvalidSpec, Message: strings.Repeat("x", maxErrorMessage+1)}
	cut := v1beta1.RunError{Kind: v1beta1.ErrorInvalidSpec, Message: strings.Repeat("x", maxErrorMessage-1) + "…"}
	interrupt := func(r Run) {
		r.Interrupt(nil, Outage{Reason: v1beta1.ReasonLedgerQuota, Message: "It is full."}, unstartedAt)
	}
	waits := stalled(kind, metav1.ConditionUnknown, v1beta1.ReasonRoleNotFound, "Create the role.")
	full := condition(kind, metav1.ConditionUnknown, v1beta1.ReasonLedgerQuota, "It is full.")
	for name, tc := range map[string]struct {
		change func(Run)
		sub    v1beta1.SubAgentStatus
		task   v1beta1.AgentTaskStatus
	}{
		// A status that is computed again later must equal the written one, or every reconcile would write it again.
		"wait": {func(r Run) {
			r.Wait(v1beta1.ReasonRoleNotFound, "Create the role.", unstartedAt)
			r.Wait(v1beta1.ReasonRoleNotFound, "Create the role.", unstartedAt+5000)
		}, v1beta1.SubAgentStatus{Phase: v1beta1.SubAgentPending, Conditions: waits}, v1beta1.AgentTaskStatus{Phase: v1beta1.TaskPending, Conditions: waits}},
		"an outage": {interrupt, v1beta1.SubAgentStatus{Phase: v1beta1.SubAgentPending, Conditions: full}, v1beta1.AgentTaskStatus{Phase: v1beta1.TaskPending, Conditions: full}},
		"an outage keeps the phase": {func(r Run) {
			r.setPhase(agent.StageActive)
			interrupt(r)
		}, v1beta1.SubAgentStatus{Phase: v1beta1.SubAgentActive, Conditions: full}, v1beta1.AgentTaskStatus{Phase: v1beta1.TaskRunning, Conditions: full}},
		"a cancellation": {func(r Run) {
			if r.Task != nil {
				r.Task.Status.Waiting = &v1beta1.Waiting{}
			} else {
				r.SubAgent.Status.Question = "Which?"
			}
			r.Fail(cancelled, unstartedAt)
		}, v1beta1.SubAgentStatus{Phase: v1beta1.SubAgentCancelled, Error: &cancelled, CompletionTime: moment(unstartedAt), Conditions: condition(kind, metav1.ConditionFalse, "Cancelled", cancelled.Message)},
			v1beta1.AgentTaskStatus{Phase: v1beta1.TaskCancelled, Error: &cancelled, CompletionTime: moment(unstartedAt), Conditions: condition(kind, metav1.ConditionFalse, "Cancelled", cancelled.Message)}},
		"a failure with a long message": {func(r Run) { r.Fail(invalid, unstartedAt) },
			v1beta1.SubAgentStatus{Phase: v1beta1.SubAgentFailed, Error: &cut, CompletionTime: moment(unstartedAt), Conditions: stalled(kind, metav1.ConditionFalse, "InvalidSpec", cut.Message)},
			v1beta1.AgentTaskStatus{Phase: v1beta1.TaskFailed, Error: &cut, CompletionTime: moment(unstartedAt), Conditions: stalled(kind, metav1.ConditionFalse, "InvalidSpec", cut.Message)}},
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
