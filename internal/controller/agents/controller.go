// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/tool"
)

// workers is the number of objects of a kind that are reconciled in parallel.
const workers = 16

// Reconciler runs the tasks or the sub-agents, depending on the kind of its tracker.
type Reconciler struct {
	Runner *Runner
	// Changed queues the objects whose agent or tool run has changed.
	Changed *cluster.Queue
	Tracker *Tracker
	// Unresolved holds the objects that wait for a reference.
	Unresolved *cluster.Unresolved
	// Unreported holds the expired tasks whose outcome the parent has not recorded. It reconciles them when a parent
	// records one or ends.
	Unreported *cluster.Unresolved

	checker tool.Checker
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	b := ctrl.NewControllerManagedBy(mgr).
		WatchesRawSource(r.Changed.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: cluster.Backoff()})
	enqueue := handler.EnqueueRequestsFromMapFunc
	edited := predicate.Or(cluster.Edited(), cluster.Orphaned())
	if r.Tracker.Kind == "AgentTask" {
		return b.Named("agenttask").
			For(&v1beta1.AgentTask{}, builder.WithPredicates(predicate.Or(edited, cluster.Released()))).
			Watches(&v1beta1.SubAgent{}, cluster.Handler(r.wakeTask),
				builder.WithPredicates(predicate.Or(cluster.Deleted(), cluster.ShownByTask()))).
			Watches(&v1beta1.AgentChat{}, enqueue(r.finishedTasks), builder.WithPredicates(ttlChanged())).
			Complete(r.Runner.Gate.Agents(&v1beta1.AgentTask{}, r.Tracker, r))
	}
	return b.Named("subagent").
		For(&v1beta1.SubAgent{}, builder.WithPredicates(edited)).
		Watches(&v1beta1.AgentTask{}, enqueue(r.ownedBy), builder.WithPredicates(cluster.Deleting())).
		Watches(&v1beta1.AgentTask{}, r.Changed.DelayedHandler(parentOf),
			builder.WithPredicates(cluster.PhaseChanged())).
		Complete(r.Runner.Gate.Agents(&v1beta1.SubAgent{}, r.Tracker, r))
}

// wakeTask enqueues the task of a sub-agent. The end of the sub-agent is the end of the task.
func (r *Reconciler) wakeTask(object client.Object) {
	name, owned := ownerOf(object, "AgentTask")
	sub, ok := object.(*v1beta1.SubAgent)
	switch {
	case !owned || !ok:
	case sub.Status.CompletionTime != nil:
		r.Changed.AddEnded(name)
	default:
		r.Changed.Add(name)
	}
}

// parentOf returns the sub-agent that asked for a task, if any.
func parentOf(task client.Object) (types.NamespacedName, bool) { return ownerOf(task, "SubAgent") }

// ownerOf returns the name of an object's controller, if it is of this kind.
func ownerOf(object client.Object, kind string) (types.NamespacedName, bool) {
	owner := metav1.GetControllerOf(object)
	if owner == nil || owner.Kind != kind {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: owner.Name}, true
}

// ownedBy returns requests for the sub-agents of a task.
func (r *Reconciler) ownedBy(ctx context.Context, task client.Object) []ctrl.Request {
	all := func(*v1beta1.SubAgent) bool { return true }
	return cluster.Requests(ctx, r.Runner.Client, &v1beta1.SubAgentList{}, all,
		client.InNamespace(task.GetNamespace()), client.MatchingFields{cluster.OwnerField: string(task.GetUID())})
}

// +kubebuilder:rbac:groups=nestor.dev,resources=agenttasks,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups=nestor.dev,resources=agenttasks/status,verbs=get;update
// +kubebuilder:rbac:groups=nestor.dev,resources=agenttasks/finalizers,verbs=update
// +kubebuilder:rbac:groups=nestor.dev,resources=subagents,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups=nestor.dev,resources=subagents/status,verbs=get;update
// +kubebuilder:rbac:groups=nestor.dev,resources=subagents/finalizers,verbs=update

// Reconcile starts, cancels or shows the work of a task or sub-agent.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	object := cluster.NewObject(r.Tracker.Kind)
	if alive, err := r.Tracker.Fetch(ctx, req.NamespacedName, object); err != nil || !alive {
		return ctrl.Result{}, err
	}
	if task, ok := object.(*v1beta1.AgentTask); ok && task.Status.CompletionTime != nil {
		return r.finish(ctx, task)
	}
	f, err := r.gather(ctx, object)
	if err == nil {
		err = r.act(ctx, f, judge(*f))
	}
	return r.exit(ctx, f, err)
}

// exit ends a reconcile. It is the only place that writes the status, and writes it even if the reconcile failed.
func (r *Reconciler) exit(ctx context.Context, f *facts, err error) (ctrl.Result, error) {
	r.Unresolved.Set(client.ObjectKeyFromObject(f), f.unresolved)
	cause := err
	if cause == nil {
		cause = f.blocked
	}
	if outage, down := r.Runner.Outage(cause); down && *f.CompletionTime == nil {
		f.Interrupt(*f.before.Conditions, outage, f.now)
		return r.Runner.Status.WriteInterrupted(ctx, f.before.Object, f.Object)
	}
	write, later := judgeWrite(*f)
	if !write {
		return status.JoinError(err)(ctrl.Result{}, r.publishStart(f, *f.before.StartTime))
	}
	result, writeErr := r.Runner.Status.Write(ctx, f.before.Object, f.Object, later)
	if writeErr != nil || !result.IsZero() { // a status that was not written needs another reconcile
		return status.JoinError(err)(result, writeErr)
	}
	if f.Task != nil && f.Task.Status.CompletionTime != nil {
		return status.JoinError(err)(r.finish(ctx, f.Task)) // after the end is written, the task can no longer start
	}
	return status.JoinError(err)(result, r.publishStart(f, *f.StartTime))
}

// publishStart lets the tool of a task run that waits until its start is published.
func (r *Reconciler) publishStart(f *facts, published *metav1.Time) error {
	if f.Task == nil || published == nil || !f.state.WaitsForStartPublished() {
		return nil
	}
	return r.Runner.Engine.Deliver(f.uid, agent.StartPublished{})
}
