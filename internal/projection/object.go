// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/conditions"
	"github.com/nestor-dev/nestor/internal/shorten"
)

type Object interface {
	metav1.Object
	runtime.Object
}

// Run is an AgentTask or a SubAgent, with pointers to the fields that both kinds have. Its methods change the status in
// place.
type Run struct {
	Object
	// One of Task and SubAgent is nil.
	Task     *v1beta1.AgentTask
	SubAgent *v1beta1.SubAgent

	Chat   string
	Cancel bool

	Result                    **v1beta1.TaskResult
	Error                     **v1beta1.RunError
	Iterations                *int32
	Usage                     *v1beta1.Usage
	StartTime, CompletionTime **metav1.Time
	Conditions                *[]metav1.Condition
}

func TaskRun(task *v1beta1.AgentTask) Run {
	s := &task.Status
	return Run{Object: task, Task: task, Chat: task.Spec.Chat, Cancel: task.Spec.Cancel,
		Result: &s.Result, Error: &s.Error, Iterations: &s.Iterations, Usage: &s.Usage,
		StartTime: &s.StartTime, CompletionTime: &s.CompletionTime, Conditions: &s.Conditions}
}

func SubAgentRun(sub *v1beta1.SubAgent) Run {
	s := &sub.Status
	return Run{Object: sub, SubAgent: sub, Chat: sub.Spec.Chat, Cancel: sub.Spec.Cancel,
		Result: &s.Result, Error: &s.Error, Iterations: &s.Iterations, Usage: &s.Usage,
		StartTime: &s.StartTime, CompletionTime: &s.CompletionTime, Conditions: &s.Conditions}
}

func (r Run) kind() string {
	if r.Task != nil {
		return "AgentTask"
	}
	return "SubAgent"
}

func (r Run) Phase() string {
	if r.Task != nil {
		return string(r.Task.Status.Phase)
	}
	return string(r.SubAgent.Status.Phase)
}

func (r Run) setPhase(stage agent.Stage) {
	if r.Task == nil {
		r.SubAgent.Status.Phase = v1beta1.SubAgentPhase(stage)
		return
	}
	r.Task.Status.Phase = v1beta1.TaskRunning
	switch stage {
	case agent.StagePending:
		r.Task.Status.Phase = v1beta1.TaskPending
	case agent.StageWaitingForUser, agent.StageWaitingForApproval:
		r.Task.Status.Phase = v1beta1.TaskWaiting
	case agent.StageCompleted:
		r.Task.Status.Phase = v1beta1.TaskSuccess
	case agent.StageFailed:
		r.Task.Status.Phase = v1beta1.TaskFailed
	case agent.StageCancelled:
		r.Task.Status.Phase = v1beta1.TaskCancelled
	}
}

func (r Run) setSucceeded(status metav1.ConditionStatus, reason, message string, at agent.Time) {
	c := metav1.Condition{Type: v1beta1.ConditionSucceeded, Status: status, Reason: reason, Message: message,
		ObservedGeneration: r.GetGeneration()}
	*r.Conditions = withCondition(*r.Conditions, r.kind(), c, at)
}

// Wait shows why a run has not started.
func (r Run) Wait(reason, message string, at agent.Time) {
	r.setPhase(agent.StagePending)
	r.setSucceeded(metav1.ConditionUnknown, reason, message, at)
}

// WaitForSubAgent shows in a task why its sub-agent has not started.
func (r Run) WaitForSubAgent(sub *v1beta1.SubAgent, succeeded metav1.Condition) {
	r.Task.Status.SubAgent = sub.Name
	r.Wait(succeeded.Reason, succeeded.Message, agent.Time(succeeded.LastTransitionTime.UnixMilli()))
}

// Fail shows the end of a run that never started, or whose history is lost.
func (r Run) Fail(failure v1beta1.RunError, at agent.Time) {
	failure.Message = shorten.Head(failure.Message, maxErrorMessage)
	r.setPhase(agent.ErrorKind(failure.Kind).Stage())
	*r.Error, *r.CompletionTime = &failure, moment(at)
	if r.Task != nil {
		r.Task.Status.Waiting = nil
	} else {
		r.SubAgent.Status.Question = ""
	}
	*r.Conditions = conditions.Without(*r.Conditions, v1beta1.ConditionReconciling)
	r.setSucceeded(metav1.ConditionFalse, string(failure.Kind), failure.Message, at)
}

// Interrupt shows an outage of the ledger. The conditions are those from before the outage, and one for the outage.
func (r Run) Interrupt(before []metav1.Condition, o Outage, at agent.Time) {
	if r.Phase() == "" {
		r.setPhase(agent.StagePending)
	}
	*r.Conditions = before
	r.setSucceeded(metav1.ConditionUnknown, o.Reason, o.Message, at)
}
