// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package agenttask creates the SubAgent or tool run of every AgentTask, and projects its state to the task's status.
package agenttask

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/run"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/projection"
	"github.com/nestor-dev/nestor/internal/tool"
)

// workers is the number of tasks that are reconciled in parallel.
const workers = 16

// Reconciler runs tasks.
type Reconciler struct {
	Client client.Client
	Runner *run.Runner
	// Changed queues the tasks whose agent or tool run has changed.
	Changed *cluster.Queue
	Tracker *run.Tracker
	// Unresolved holds the tasks that wait for a reference.
	Unresolved *cluster.Unresolved
	// Unreported holds the expired tasks whose outcome the parent has not recorded. It reconciles them when a parent records one.
	Unreported *cluster.Unresolved

	checker tool.Checker
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("agenttask").
		For(&v1alpha1.AgentTask{}, builder.WithPredicates(predicate.Or(cluster.Edited(), cluster.Orphaned(), cluster.Released()))).
		Owns(&v1alpha1.SubAgent{}, builder.WithPredicates(predicate.Or(cluster.Deleted(), cluster.PendingReasonChanged()))).
		Watches(&v1alpha1.AgentChat{}, handler.EnqueueRequestsFromMapFunc(r.finishedTasks), builder.WithPredicates(ttlChanged())).
		WatchesRawSource(r.Changed.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: cluster.Backoff()}).
		Complete(r.Runner.Gate.Agents(&v1alpha1.AgentTask{}, r.Tracker, r))
}

// +kubebuilder:rbac:groups=nestor.dev,resources=agenttasks,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups=nestor.dev,resources=agenttasks/status,verbs=get;update
// +kubebuilder:rbac:groups=nestor.dev,resources=agenttasks/finalizers,verbs=update

// Reconcile starts, cancels or reports the work of a task, and writes the task's status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var task v1alpha1.AgentTask
	if alive, err := r.Tracker.Fetch(ctx, req.NamespacedName, &task); err != nil || !alive {
		return ctrl.Result{}, err
	}
	if task.Status.CompletionTime != nil {
		return r.finish(ctx, &task)
	}
	if cluster.IsHeld(&task) {
		return ctrl.Result{}, nil // it may be a duplicate; when its firing is confirmed, it is released
	}
	lineage, err := r.Runner.Lineage(ctx, &task)
	if err != nil {
		return ctrl.Result{}, err
	}
	condition, missing, err := r.ensure(ctx, &task, lineage)
	var cannot *startError
	if errors.As(err, &cannot) {
		return r.fail(ctx, &task, cannot.RunError)
	}
	if err != nil {
		return r.reportOutage(ctx, &task, err)
	}
	r.Unresolved.Set(req.NamespacedName, missing)
	if missing {
		return r.waitFor(ctx, &task, condition)
	}
	uid, state, started, err := r.Runner.TaskAgent(ctx, &task)
	if err != nil {
		return r.reportOutage(ctx, &task, err)
	}
	if !started {
		return r.projectSubAgent(ctx, &task)
	}
	if run.EndedBefore(state, task.Status.CompletionTime) {
		return r.expire(ctx, &task)
	}
	var applied error
	if task.Spec.Type == v1alpha1.TaskTool {
		applied = r.Runner.Apply(ctx, run.Owner{Object: &task, Chat: task.Spec.Chat}, state)
		if _, down := r.Runner.Outage(applied); down {
			return r.reportOutage(ctx, &task, applied)
		}
	}
	if err := r.Runner.Engine.Blocked(uid); err != nil && !state.Phase.Terminal() {
		return r.reportOutage(ctx, &task, err)
	}
	result, err := r.project(ctx, &task, state, r.Runner.Work(ctx, task.Namespace, uid), r.asksBelow(&task, uid))
	if err == nil && result.IsZero() && state.AwaitsStartPublished() && task.Status.StartTime != nil { // the start is published
		err = r.Runner.Engine.Deliver(uid, agent.StartPublished{})
	}
	return status.JoinError(applied)(result, err)
}

// reportOutage ends a failed reconcile. If the ledger failed, it writes that to the task's status.
func (r *Reconciler) reportOutage(ctx context.Context, task *v1alpha1.AgentTask, err error) (ctrl.Result, error) {
	outage, down := r.Runner.Outage(err)
	if !down {
		return status.Result(err)
	}
	next := projection.TaskRun(task.DeepCopy())
	next.Interrupt(task.Status.Conditions, outage, run.Now())
	return status.WriteInterrupted(ctx, r.Runner.Status, task, &task.Status, next.Task.Status)
}

// asksBelow adds one ask of the agents below a standalone task to its status: the one that it shows already, or the oldest.
func (r *Reconciler) asksBelow(task *v1alpha1.AgentTask, uid string) overlay {
	return func(next projection.Run) {
		if asks := run.ShownFirst(r.Runner.Engine.AsksBelow(uid), task.Status.Waiting); len(asks) > 0 {
			next.ShowAsk(asks[0].Agent.Name, asks[0].AskPerson, asks[0].Since)
		}
	}
}

// overlay adds information to a task's status that is not in the state of its agent.
type overlay func(projection.Run)

// ensure creates or cancels the sub-agent or tool run of a task. It reports whether a reference is missing, and which.
func (r *Reconciler) ensure(ctx context.Context, task *v1alpha1.AgentTask, lineage cluster.Lineage) (metav1.Condition, bool, error) {
	if lineage.Gone {
		return metav1.Condition{}, false, r.abandon(ctx, task)
	}
	ensure := r.ensureSubAgent
	if task.Spec.Type == v1alpha1.TaskTool {
		ensure = r.ensureToolRun
	}
	err := ensure(ctx, task, lineage)
	if condition, missing := status.FromMissing(task.Generation, err); missing {
		if task.Spec.Cancel {
			return metav1.Condition{}, false, r.cancelUnstarted(ctx, task)
		}
		return condition, true, nil
	}
	return metav1.Condition{}, false, err
}

// cancelUnstarted ends a cancelled task that cannot start because a reference is missing, which may never exist. A sub-agent that is
// missing from the cache is cancelled when it appears there.
func (r *Reconciler) cancelUnstarted(ctx context.Context, task *v1alpha1.AgentTask) error {
	if task.Spec.Type != v1alpha1.TaskTool {
		if sub, err := r.Runner.FindSubAgent(ctx, task); err != nil || sub != nil {
			return err
		}
	}
	return startErrorf(v1alpha1.ErrorCancelled, "It was cancelled before it began.")
}

// project writes the progress of the work to the task's status. Counters that grow during the run are in the sub-agent's status; the task
// gets them when its phase changes, so a task that ends within a second is written once.
func (r *Reconciler) project(ctx context.Context, task *v1alpha1.AgentTask, s agent.State, work projection.Work, overlays ...overlay) (ctrl.Result, error) {
	run := projection.TaskRun(task.DeepCopy())
	run.Show(s, work)
	for _, show := range overlays {
		show(run)
	}
	next := run.Task.Status
	same := equality.Semantic.DeepEqual(task.Status.Waiting, next.Waiting) && equality.Semantic.DeepEqual(task.Status.Conditions, next.Conditions)
	if same && next.Phase == task.Status.Phase && next.SubAgent == task.Status.SubAgent {
		return r.expire(ctx, task)
	}
	// A person who answered must see at once that the work continues: only the first start may be delayed.
	progress := next.Phase == v1alpha1.TaskRunning && task.Status.Waiting == nil && !s.AwaitsStartPublished() || status.WasInterrupted(task.Status.Conditions, v1alpha1.ConditionSucceeded)
	result, err := status.Write(ctx, r.Runner.Status, task, &task.Status, next, progress)
	if err != nil || !result.IsZero() || task.Status.CompletionTime == nil { // a status that was not written needs another reconcile
		return result, err
	}
	return r.expire(ctx, task)
}

// projectSubAgent shows why a sub-agent has not started.
func (r *Reconciler) projectSubAgent(ctx context.Context, task *v1alpha1.AgentTask) (ctrl.Result, error) {
	sub, err := r.Runner.SubAgent(ctx, task)
	if err != nil || sub == nil {
		return ctrl.Result{}, err
	}
	c := meta.FindStatusCondition(sub.Status.Conditions, v1alpha1.ConditionSucceeded)
	if c == nil {
		return ctrl.Result{}, nil // it is about to start
	}
	if sub.Status.Error != nil {
		return r.fail(ctx, task, *sub.Status.Error)
	}
	next := projection.TaskRun(task.DeepCopy())
	next.Task.Status.SubAgent = sub.Name
	next.Wait(c.Reason, c.Message, agent.Time(c.LastTransitionTime.UnixMilli()))
	return status.Write(ctx, r.Runner.Status, task, &task.Status, next.Task.Status, false)
}

// fail ends a task whose work never started, or was lost.
func (r *Reconciler) fail(ctx context.Context, task *v1alpha1.AgentTask, failure v1alpha1.RunError) (ctrl.Result, error) {
	next := projection.TaskRun(task.DeepCopy())
	next.Fail(failure, run.Now())
	if result, err := status.Write(ctx, r.Runner.Status, task, &task.Status, next.Task.Status, false); err != nil || !result.IsZero() {
		return result, err
	}
	return r.finish(ctx, task) // after the end is written, the task can no longer start
}

// waitFor shows the missing reference of a task.
func (r *Reconciler) waitFor(ctx context.Context, task *v1alpha1.AgentTask, missing metav1.Condition) (ctrl.Result, error) {
	next := projection.TaskRun(task.DeepCopy())
	next.Wait(missing.Reason, missing.Message, run.Now())
	return status.Write(ctx, r.Runner.Status, task, &task.Status, next.Task.Status, false)
}

// finish handles a task whose status shows its end. The engine reports the outcome of an agent to its parent; if the task never had an
// agent, finish reports the failure.
func (r *Reconciler) finish(ctx context.Context, task *v1alpha1.AgentTask) (ctrl.Result, error) {
	parent := metav1.GetControllerOf(task)
	if task.Status.Error == nil || parent == nil {
		return r.expire(ctx, task)
	}
	told, err := r.isReported(ctx, task)
	if err != nil || told {
		return status.JoinError(err)(r.expire(ctx, task))
	}
	started, err := r.Runner.Engine.HasStarted(ctx, string(parent.UID), task.Name)
	if err == nil && !started {
		err = r.Runner.ReportFailure(ctx, task, *task.Status.Error)
	}
	return status.JoinError(err)(r.expire(ctx, task))
}

// expire deletes a finished task when its TTL has passed.
func (r *Reconciler) expire(ctx context.Context, task *v1alpha1.AgentTask) (ctrl.Result, error) {
	if task.Status.CompletionTime == nil {
		return ctrl.Result{}, nil
	}
	ttl := task.Spec.TTLSecondsAfterFinished
	if ttl == nil && task.Spec.Chat != "" {
		lineage, err := r.Runner.Lineage(ctx, task)
		if err != nil {
			return ctrl.Result{}, err
		}
		if lineage.Chat != nil {
			ttl = lineage.Chat.Spec.TaskTTLSecondsAfterFinished
		}
	}
	if ttl == nil {
		return ctrl.Result{}, nil
	}
	if left := time.Until(task.Status.CompletionTime.Add(time.Duration(*ttl) * time.Second)); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	// The parent must have recorded the outcome: it would treat a missing task as deleted. It may record it after isReported has read its
	// state, so the task waits before that.
	r.Unreported.Set(client.ObjectKeyFromObject(task), true)
	told, err := r.isReported(ctx, task)
	if err != nil || !told {
		return ctrl.Result{}, err
	}
	r.Unreported.Set(client.ObjectKeyFromObject(task), false)
	if err := client.IgnoreNotFound(r.Client.Delete(ctx, task, client.Preconditions{UID: &task.UID})); err != nil {
		return ctrl.Result{}, fmt.Errorf("delete the finished task %s/%s: %w", task.Namespace, task.Name, err)
	}
	return ctrl.Result{}, nil
}

// isReported reports whether the agent that asked for a task has received its outcome.
func (r *Reconciler) isReported(ctx context.Context, task *v1alpha1.AgentTask) (bool, error) {
	owner := metav1.GetControllerOf(task)
	if owner == nil {
		return true, nil
	}
	state, found, err := r.Runner.State(ctx, string(owner.UID))
	if err != nil || !found || state.Phase.Terminal() {
		return err == nil, err
	}
	for _, child := range state.Children.Live {
		if child.Name == task.Name && child.Outcome == nil {
			return false, nil
		}
	}
	return true, nil
}
