// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package agenttask turns every AgentTask into a SubAgent or a tool run, and shows what becomes of it.
package agenttask

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/controller/poke"
	"github.com/nestor-dev/nestor/internal/controller/run"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/projection"
)

// lookAgain is how soon a task that lacks something is looked at again, in case no watch tells.
const lookAgain = 5 * time.Second

// Reconciler runs tasks.
type Reconciler struct {
	Client client.Client
	Runner *run.Runner
	// Changed is told of tasks whose agent or tool has moved on.
	Changed *poke.Queue
	Known   *run.Known
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("agenttask").
		For(&v1alpha1.AgentTask{}).
		Owns(&v1alpha1.SubAgent{}).
		WatchesRawSource(r.Changed.Source()).
		Complete(r)
}

// +kubebuilder:rbac:groups=nestor.dev,resources=agenttasks,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups=nestor.dev,resources=agenttasks/status,verbs=get;update
// +kubebuilder:rbac:groups=nestor.dev,resources=agenttasks/finalizers,verbs=update

// Reconcile brings a task and what does its work together.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var task v1alpha1.AgentTask
	if alive, err := r.Known.Fetch(ctx, r.Client, req.NamespacedName, &task); err != nil || !alive {
		return ctrl.Result{}, err
	}
	if task.Status.CompletionTime != nil {
		return r.expire(ctx, &task)
	}
	missing, err := r.ensure(ctx, &task)
	if err != nil {
		return ctrl.Result{}, err
	}
	if missing != nil {
		return ctrl.Result{RequeueAfter: lookAgain}, r.waitFor(ctx, &task, *missing)
	}
	state, begun, err := r.Runner.TaskState(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !begun {
		return ctrl.Result{}, r.fromSubAgent(ctx, &task)
	}
	if task.Spec.Type == v1alpha1.TaskTool {
		if err := r.Runner.Apply(ctx, run.Owner{Object: &task, Chat: task.Spec.Chat}, state); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, r.write(ctx, &task, projection.Task(state, task.Status, task.Generation))
}

// ensure makes sure that somebody does the work, and that whoever does it knows of a cancel. It returns what is missing.
func (r *Reconciler) ensure(ctx context.Context, task *v1alpha1.AgentTask) (*metav1.Condition, error) {
	ensure := r.ensureSubAgent
	if task.Spec.Type == v1alpha1.TaskTool {
		ensure = r.ensureToolRun
	}
	err := ensure(ctx, task)
	if condition, missing := status.FromMissing(task.Generation, err); missing {
		return &condition, nil
	}
	return nil, err
}

// fromSubAgent shows what a sub-agent that has not begun waits for.
func (r *Reconciler) fromSubAgent(ctx context.Context, task *v1alpha1.AgentTask) error {
	var sub v1alpha1.SubAgent
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(task), &sub); err != nil {
		return client.IgnoreNotFound(err)
	}
	next := *task.Status.DeepCopy()
	next.Phase, next.SubAgent = v1alpha1.TaskPending, sub.Name
	if sub.Status.Error != nil { // it was lost
		next.Phase, next.Error = v1alpha1.TaskFailed, sub.Status.Error
		now := metav1.Now()
		next.CompletionTime = &now
	}
	if c := meta.FindStatusCondition(sub.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		condition := *c
		condition.ObservedGeneration = task.Generation
		meta.SetStatusCondition(&next.Conditions, condition)
	}
	return r.write(ctx, task, next)
}

// waitFor shows what a task waits for.
func (r *Reconciler) waitFor(ctx context.Context, task *v1alpha1.AgentTask, missing metav1.Condition) error {
	next := *task.Status.DeepCopy()
	next.Phase = v1alpha1.TaskPending
	missing.Type, missing.Status = v1alpha1.ConditionSucceeded, metav1.ConditionUnknown
	meta.SetStatusCondition(&next.Conditions, missing)
	return r.write(ctx, task, next)
}

// write writes the status of a task, if it changed.
func (r *Reconciler) write(ctx context.Context, task *v1alpha1.AgentTask, next v1alpha1.AgentTaskStatus) error {
	if equality.Semantic.DeepEqual(task.Status, next) {
		return nil
	}
	task.Status = next
	return status.Update(ctx, r.Client, task)
}

// expire deletes a task that has ended, when its time is up.
func (r *Reconciler) expire(ctx context.Context, task *v1alpha1.AgentTask) (ctrl.Result, error) {
	ttl := task.Spec.TTLSecondsAfterFinished
	if ttl == nil && task.Spec.Chat != "" {
		var chat v1alpha1.AgentChat
		if err := r.Client.Get(ctx, types.NamespacedName{Namespace: task.Namespace, Name: task.Spec.Chat}, &chat); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		ttl = chat.Spec.TaskTTLSecondsAfterFinished
	}
	if ttl == nil {
		return ctrl.Result{}, nil
	}
	if left := time.Until(task.Status.CompletionTime.Add(time.Duration(*ttl) * time.Second)); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	// The parent must have heard of the end first: it reads it from this very task.
	told, err := r.parentKnows(ctx, task)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !told {
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	if err := client.IgnoreNotFound(r.Client.Delete(ctx, task)); err != nil {
		return ctrl.Result{}, fmt.Errorf("delete the finished task %s/%s: %w", task.Namespace, task.Name, err)
	}
	return ctrl.Result{}, nil
}

// parentKnows says whether the agent that asked for a task has taken its outcome.
func (r *Reconciler) parentKnows(ctx context.Context, task *v1alpha1.AgentTask) (bool, error) {
	owner := metav1.GetControllerOf(task)
	if owner == nil {
		return true, nil
	}
	state, found, err := r.Runner.State(ctx, string(owner.UID))
	if err != nil || !found {
		return !found, err
	}
	for _, child := range state.Children.Live {
		if child.Name == task.Name && child.Outcome == nil {
			return false, nil
		}
	}
	return true, nil
}
