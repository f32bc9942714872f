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

func TestRunsThatHaveNotStarted(t *testing.T) {
	missing := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRoleNotFound, Message: "Create the role.", ObservedGeneration: 3}
	waits := condition(v1alpha1.ConditionSucceeded, metav1.ConditionUnknown, v1alpha1.ReasonRoleNotFound, "Create the role.")
	down := Outage{Reason: v1alpha1.ReasonLedgerQuota, Message: "It is full."}
	interrupted := condition(v1alpha1.ConditionSucceeded, metav1.ConditionUnknown, v1alpha1.ReasonLedgerQuota, "It is full.")
	cancelled := v1alpha1.RunError{Kind: v1alpha1.ErrorCancelled, Message: "It was cancelled."}
	failed := condition(v1alpha1.ConditionSucceeded, metav1.ConditionFalse, string(v1alpha1.ErrorCancelled), "It was cancelled.")
	invalid := v1alpha1.RunError{Kind: v1alpha1.ErrorInvalidSpec, Message: strings.Repeat("x", maxErrorMessage+1)}
	cut := v1alpha1.RunError{Kind: v1alpha1.ErrorInvalidSpec, Message: strings.Repeat("x", maxErrorMessage-1) + "…"}
	created := metav1.NewTime(moment(1000).Time)
	green := &v1alpha1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Spec: v1alpha1.AgentMessageSpec{Content: "Green"}}
	for name, tc := range map[string]struct{ got, want any }{
		"a chat that waits": {ChatPending(v1alpha1.AgentChatStatus{Messages: 2}, missing, unstartedAt),
			v1alpha1.AgentChatStatus{Phase: v1alpha1.ChatIdle, Messages: 2, Conditions: condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonRoleNotFound, "Create the role.")}},
		"a chat whose history is lost": {ChatHistoryLost(v1alpha1.AgentChatStatus{Phase: v1alpha1.ChatWaiting, Waiting: []v1alpha1.ChatWaitingItem{{}}}, created, missing, unstartedAt),
			v1alpha1.AgentChatStatus{Phase: v1alpha1.ChatIdle, StartTime: &created, Conditions: condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonRoleNotFound, "Create the role.")}},
		"a chat in an outage": {ChatInterrupted(v1alpha1.AgentChatStatus{}, nil, down, 3, unstartedAt),
			v1alpha1.AgentChatStatus{Phase: v1alpha1.ChatIdle, Conditions: condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonLedgerQuota, "It is full.")}},
		"a sub-agent that waits":   {SubAgentPending(v1alpha1.SubAgentStatus{}, missing, unstartedAt), v1alpha1.SubAgentStatus{Phase: v1alpha1.SubAgentPending, Conditions: waits}},
		"a sub-agent in an outage": {SubAgentInterrupted(v1alpha1.SubAgentStatus{}, nil, down, 3, unstartedAt), v1alpha1.SubAgentStatus{Phase: v1alpha1.SubAgentPending, Conditions: interrupted}},
		"a sub-agent that never started": {SubAgentFailed(v1alpha1.SubAgentStatus{Question: "Which?"}, cancelled, 3, unstartedAt),
			v1alpha1.SubAgentStatus{Phase: v1alpha1.SubAgentFailed, Error: &cancelled, CompletionTime: moment(unstartedAt), Conditions: failed}},
		"a task that waits":                   {TaskPending(v1alpha1.AgentTaskStatus{}, "", missing, unstartedAt), v1alpha1.AgentTaskStatus{Phase: v1alpha1.TaskPending, Conditions: waits}},
		"a task whose sub-agent waits":        {TaskPending(v1alpha1.AgentTaskStatus{}, "coder", missing, unstartedAt), v1alpha1.AgentTaskStatus{Phase: v1alpha1.TaskPending, SubAgent: "coder", Conditions: waits}},
		"a task in an outage keeps its phase": {TaskInterrupted(v1alpha1.AgentTaskStatus{Phase: v1alpha1.TaskRunning}, nil, down, 3, unstartedAt), v1alpha1.AgentTaskStatus{Phase: v1alpha1.TaskRunning, Conditions: interrupted}},
		"a task that was cancelled":           {TaskFailed(v1alpha1.AgentTaskStatus{Waiting: &v1alpha1.Waiting{}}, cancelled, 3, unstartedAt), v1alpha1.AgentTaskStatus{Phase: v1alpha1.TaskCancelled, Error: &cancelled, CompletionTime: moment(unstartedAt), Conditions: failed}},
		"a task with a message that is too long": {TaskFailed(v1alpha1.AgentTaskStatus{}, invalid, 3, unstartedAt),
			v1alpha1.AgentTaskStatus{Phase: v1alpha1.TaskFailed, Error: &cut, CompletionTime: moment(unstartedAt), Conditions: condition(v1alpha1.ConditionSucceeded, metav1.ConditionFalse, string(cut.Kind), cut.Message)}},
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

// A status that is computed again later must equal the written one, or every reconcile would write it again.
func TestAStatusThatStaysIsNotWrittenAgain(t *testing.T) {
	missing := metav1.Condition{Reason: v1alpha1.ReasonRoleNotFound, Message: "Create the role.", ObservedGeneration: 3}
	first := TaskPending(v1alpha1.AgentTaskStatus{}, "", missing, unstartedAt)
	if diff := cmp.Diff(first, TaskPending(first, "", missing, unstartedAt+5000)); diff != "" {
		t.Errorf("the second status differs (-first +second):\n%s", diff)
	}
}
