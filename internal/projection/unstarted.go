// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// ChatPending returns the status of a chat that has not started. The condition names the missing reference.
func ChatPending(old v1alpha1.AgentChatStatus, c metav1.Condition, at agent.Time) v1alpha1.AgentChatStatus {
	status := *old.DeepCopy()
	status.Phase = v1alpha1.ChatIdle
	status.Conditions = withCondition(status.Conditions, c, at)
	return status
}

// ChatHistoryLost returns the status of a chat that had started and whose history cannot be read. The condition has the cause.
func ChatHistoryLost(old v1alpha1.AgentChatStatus, created metav1.Time, c metav1.Condition, at agent.Time) v1alpha1.AgentChatStatus {
	status := ChatPending(old, c, at)
	status.Waiting = nil
	if status.StartTime == nil { // earlier releases did not write it, and the Ready condition no longer shows the start
		status.StartTime = &created
	}
	return status
}

// SubAgentPending returns the status of a sub-agent that has not started. The condition has the reason.
func SubAgentPending(old v1alpha1.SubAgentStatus, c metav1.Condition, at agent.Time) v1alpha1.SubAgentStatus {
	status := *old.DeepCopy()
	status.Phase = v1alpha1.SubAgentPending
	status.Conditions = withCondition(status.Conditions, notYet(c), at)
	return status
}

// SubAgentFailed returns the status of a sub-agent that never started, or whose history is lost.
func SubAgentFailed(old v1alpha1.SubAgentStatus, failure v1alpha1.RunError, generation int64, at agent.Time) v1alpha1.SubAgentStatus {
	status := *old.DeepCopy()
	failure.Message = shorten.Head(failure.Message, maxErrorMessage)
	status.Phase, status.Question, status.Error, status.CompletionTime = v1alpha1.SubAgentFailed, "", &failure, moment(at)
	status.Conditions = withCondition(status.Conditions, notSucceeded(failure, generation), at)
	return status
}

// TaskPending returns the status of a task that has not started. The condition has the reason. subAgent is empty until the task has one.
func TaskPending(old v1alpha1.AgentTaskStatus, subAgent string, c metav1.Condition, at agent.Time) v1alpha1.AgentTaskStatus {
	status := *old.DeepCopy()
	status.Phase = v1alpha1.TaskPending
	if subAgent != "" {
		status.SubAgent = subAgent
	}
	status.Conditions = withCondition(status.Conditions, notYet(c), at)
	return status
}

// TaskFailed returns the status of a task that never started, or whose history is lost.
func TaskFailed(old v1alpha1.AgentTaskStatus, failure v1alpha1.RunError, generation int64, at agent.Time) v1alpha1.AgentTaskStatus {
	status := *old.DeepCopy()
	failure.Message = shorten.Head(failure.Message, maxErrorMessage)
	status.Phase, status.Error, status.Waiting, status.CompletionTime = v1alpha1.TaskFailed, &failure, nil, moment(at)
	if failure.Kind == v1alpha1.ErrorCancelled {
		status.Phase = v1alpha1.TaskCancelled
	}
	status.Conditions = withCondition(status.Conditions, notSucceeded(failure, generation), at)
	return status
}

// notYet converts the reason why a run cannot start to the Succeeded condition of the run.
func notYet(c metav1.Condition) metav1.Condition {
	c.Type, c.Status = v1alpha1.ConditionSucceeded, metav1.ConditionUnknown
	return c
}

func notSucceeded(failure v1alpha1.RunError, generation int64) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse, Reason: string(failure.Kind), Message: failure.Message, ObservedGeneration: generation}
}
