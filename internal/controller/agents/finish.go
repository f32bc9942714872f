// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/status"
)

// finish handles a task whose status shows its end. The engine reports the outcome of an agent to its parent; if the
// task never had an agent, finish reports the failure.
func (r *Reconciler) finish(ctx context.Context, task *v1beta1.AgentTask) (ctrl.Result, error) {
	parent := metav1.GetControllerOf(task)
	if task.Status.Error == nil || parent == nil {
		return r.expire(ctx, task)
	}
	reported, err := r.isReported(ctx, task)
	if err != nil || reported {
		return status.JoinError(err)(r.expire(ctx, task))
	}
	started, err := r.Runner.Engine.HasStarted(ctx, string(parent.UID), task.Name)
	if err == nil && !started {
		err = r.Runner.ReportFailure(ctx, task, *task.Status.Error)
	}
	return status.JoinError(err)(r.expire(ctx, task))
}

// expire deletes a finished task when its TTL has passed.
func (r *Reconciler) expire(ctx context.Context, task *v1beta1.AgentTask) (ctrl.Result, error) {
	ttl := task.Spec.TTLSecondsAfterFinished
	if ttl == nil && task.Spec.Chat != "" {
		tree, err := r.Runner.Gather(ctx, task)
		if err != nil {
			return ctrl.Result{}, err
		}
		if chat := tree.Lineage(task).Chat; chat != nil {
			ttl = chat.Spec.TaskTTLSecondsAfterFinished
		}
	}
	if ttl == nil {
		return ctrl.Result{}, nil
	}
	if left := time.Until(task.Status.CompletionTime.Add(time.Duration(*ttl) * time.Second)); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	if !r.Runner.Settled(task) {
		return ctrl.Result{}, nil
	}
	// The parent must have recorded the outcome: it would treat a missing task as deleted. It may record it after
	// isReported has read its state, so the task waits before that.
	r.Unreported.Set(client.ObjectKeyFromObject(task), true)
	if reported, err := r.isReported(ctx, task); err != nil || !reported {
		return ctrl.Result{}, err
	}
	r.Unreported.Set(client.ObjectKeyFromObject(task), false)
	if err := client.IgnoreNotFound(r.Runner.Client.Delete(ctx, task, client.Preconditions{UID: &task.UID})); err != nil {
		return ctrl.Result{}, fmt.Errorf("delete the finished task %s/%s: %w", task.Namespace, task.Name, err)
	}
	return ctrl.Result{}, nil
}

// isReported reports whether the agent that asked for a task has received its outcome.
func (r *Reconciler) isReported(ctx context.Context, task *v1beta1.AgentTask) (bool, error) {
	owner := metav1.GetControllerOf(task)
	if owner == nil {
		return true, nil
	}
	state, started, err := r.Runner.State(ctx, string(owner.UID))
	if err != nil || !started || state.Phase.Terminal() {
		return err == nil, err
	}
	for _, child := range state.Children.Live {
		if child.Name == task.Name && child.Outcome == nil {
			return false, nil
		}
	}
	return true, nil
}

// finishedTasks returns requests for the finished tasks of a chat whose TTL has changed.
func (r *Reconciler) finishedTasks(ctx context.Context, chat client.Object) []ctrl.Request {
	finished := func(task *v1beta1.AgentTask) bool { return task.Status.CompletionTime != nil }
	return cluster.Requests(ctx, r.Runner.Client, &v1beta1.AgentTaskList{}, finished,
		client.InNamespace(chat.GetNamespace()), client.MatchingFields{cluster.ChatField: chat.GetName()})
}

// ttlChanged selects the updates of a chat that change the TTL of its finished tasks.
func ttlChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*v1beta1.AgentChat)
			after, alsoOK := e.ObjectNew.(*v1beta1.AgentChat)
			return ok && alsoOK && !ptr.Equal(before.Spec.TaskTTLSecondsAfterFinished, after.Spec.TaskTTLSecondsAfterFinished)
		},
	}
}
