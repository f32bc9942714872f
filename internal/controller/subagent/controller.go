// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package subagent runs the agent of every SubAgent.
package subagent

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/agentconfig"
	"github.com/nestor-dev/nestor/internal/controller/run"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/projection"
	"github.com/nestor-dev/nestor/internal/quota"
	"github.com/nestor-dev/nestor/internal/shard"
)

// workers is the number of sub-agents that are reconciled in parallel.
const workers = 16

// Reconciler runs sub-agents.
type Reconciler struct {
	Client client.Client
	Runner *run.Runner
	// Changed queues the sub-agents whose agent has changed.
	Changed *cluster.Queue
	Tracker *run.Tracker
	// Unresolved holds the sub-agents that wait for a reference.
	Unresolved *cluster.Unresolved
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("subagent").
		For(&v1alpha1.SubAgent{}, builder.WithPredicates(predicate.Or(cluster.Edited(), cluster.Orphaned()))).
		Watches(&v1alpha1.AgentTask{}, r.Changed.DelayedHandler(parentOf), builder.WithPredicates(cluster.PhaseChanged())).
		Watches(&v1alpha1.AgentTask{}, handler.EnqueueRequestsFromMapFunc(agentOf), builder.WithPredicates(cluster.Ended())).
		Watches(&v1alpha1.AgentTask{}, handler.EnqueueRequestsFromMapFunc(r.ownedBy), builder.WithPredicates(cluster.Deleting())).
		WatchesRawSource(r.Changed.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: cluster.Backoff()}).
		Complete(r.Runner.Gate.Agents(&v1alpha1.SubAgent{}, r.Tracker, r))
}

// agentOf returns a request for the sub-agent that a task names.
func agentOf(_ context.Context, object client.Object) []reconcile.Request {
	task, ok := object.(*v1alpha1.AgentTask)
	if !ok || task.Status.SubAgent == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: task.Namespace, Name: task.Status.SubAgent}}}
}

// ownedBy returns requests for the sub-agents of a task.
func (r *Reconciler) ownedBy(ctx context.Context, task client.Object) []reconcile.Request {
	var list v1alpha1.SubAgentList
	err := r.Client.List(ctx, &list, client.InNamespace(task.GetNamespace()), client.MatchingFields{cluster.OwnerField: string(task.GetUID())}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil // the cache is not ready; its initial events enqueue them
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// parentOf returns the sub-agent that asked for a task, if any.
func parentOf(object client.Object) (types.NamespacedName, bool) {
	owner := metav1.GetControllerOf(object)
	if owner == nil || owner.Kind != "SubAgent" {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: owner.Name}, true
}

// +kubebuilder:rbac:groups=nestor.dev,resources=subagents,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups=nestor.dev,resources=subagents/status,verbs=get;update
// +kubebuilder:rbac:groups=nestor.dev,resources=subagents/finalizers,verbs=update

// Reconcile starts or cancels the agent of a SubAgent, and writes its status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var sub v1alpha1.SubAgent
	if alive, err := r.Tracker.Fetch(ctx, req.NamespacedName, &sub); err != nil || !alive {
		return ctrl.Result{}, err
	}
	state, started, err := r.Runner.State(ctx, string(sub.UID))
	if err != nil {
		return r.reportOutage(ctx, &sub, err)
	}
	if started && run.EndedBefore(state, sub.Status.CompletionTime) {
		return ctrl.Result{}, nil
	}
	lineage, err := r.Runner.Lineage(ctx, &sub)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !started {
		result, err := r.start(ctx, &sub, lineage)
		if err != nil {
			return r.reportOutage(ctx, &sub, err)
		}
		return result, nil
	}
	if err := r.cancel(ctx, &sub, lineage, state); err != nil {
		return ctrl.Result{}, err
	}
	applied := r.Runner.Apply(ctx, run.Owner{Object: &sub, Chat: sub.Spec.Chat, Parent: sub.Name}, state)
	if _, down := r.Runner.Outage(applied); down {
		return r.reportOutage(ctx, &sub, applied)
	}
	shown := projection.SubAgentRun(sub.DeepCopy())
	shown.Show(state, r.Runner.Work(ctx, sub.Namespace, string(sub.UID)))
	if outage, down := r.Runner.Outage(r.Runner.Engine.Blocked(string(sub.UID))); down && !state.Phase.Terminal() {
		shown.Interrupt(sub.Status.Conditions, outage, run.Now())
		return status.WriteInterrupted(ctx, r.Runner.Status, &sub, &sub.Status, shown.SubAgent.Status)
	}
	next := shown.SubAgent.Status
	later := isProgress(sub.Status, next) || status.WasInterrupted(sub.Status.Conditions, v1alpha1.ConditionSucceeded) // an outage ends for all sub-agents at the same time
	return status.JoinError(applied)(status.Write(ctx, r.Runner.Status, &sub, &sub.Status, next, later))
}

// reportOutage ends a failed reconcile. If the ledger failed, and the agent has not ended, it writes that to the status.
func (r *Reconciler) reportOutage(ctx context.Context, sub *v1alpha1.SubAgent, err error) (ctrl.Result, error) {
	outage, down := r.Runner.Outage(err)
	if sub.Status.CompletionTime != nil || !down {
		return status.Result(err)
	}
	next := projection.SubAgentRun(sub.DeepCopy())
	next.Interrupt(sub.Status.Conditions, outage, run.Now())
	return status.WriteInterrupted(ctx, r.Runner.Status, sub, &sub.Status, next.SubAgent.Status)
}

// cancel stops an agent if spec.cancel is set, or if its task or another ancestor was deleted: the garbage collector may run much later, or
// never.
func (r *Reconciler) cancel(ctx context.Context, sub *v1alpha1.SubAgent, lineage cluster.Lineage, state agent.State) error {
	switch {
	case state.Phase.Terminal() || state.Phase == agent.PhaseCancelling:
		return nil
	case lineage.Gone:
		_, err := r.Runner.Engine.EndIfDeleted(ctx, string(sub.UID))
		return err
	case sub.Spec.Cancel:
		return r.Runner.Engine.Deliver(string(sub.UID), agent.Cancelled{By: run.CancelledBy(sub)})
	}
	return nil
}

// isProgress reports whether a status change may be delayed, because it only shows that the agent is active and how far it is. The
// continuation after an answer, and the next question, are written at once.
func isProgress(before, next v1alpha1.SubAgentStatus) bool {
	waited := before.Phase == v1alpha1.SubAgentWaitingForUser || before.Phase == v1alpha1.SubAgentAwaitingApproval
	if next.Phase == before.Phase {
		return next.Question == before.Question
	}
	return next.Phase == v1alpha1.SubAgentActive && !waited
}

// start starts the agent once all its references exist.
func (r *Reconciler) start(ctx context.Context, sub *v1alpha1.SubAgent, lineage cluster.Lineage) (ctrl.Result, error) {
	if sub.Status.Error != nil {
		return ctrl.Result{}, nil // the agent will never start
	}
	if lineage.Gone {
		return r.fail(ctx, sub, v1alpha1.ErrorCancelled, "Its task, or an owner of the task, was deleted.")
	}
	if sub.Status.StartTime != nil {
		return r.fail(ctx, sub, v1alpha1.ErrorHistoryLost, "The agent had started, but the ledger has no events of it. Create the task again.")
	}
	if err := r.Runner.Engine.Blocked(string(sub.UID)); err != nil {
		return ctrl.Result{}, err // it starts when the ledger is available
	}
	record, started, err := r.prepare(ctx, sub, lineage)
	condition, missing := status.FromMissing(sub.Generation, err)
	r.Unresolved.Set(client.ObjectKeyFromObject(sub), missing && !sub.Spec.Cancel)
	var invalid *invalidError
	switch {
	case sub.Spec.Cancel && (missing || errors.As(err, &invalid)):
		return r.fail(ctx, sub, v1alpha1.ErrorCancelled, "It was cancelled before it began.")
	case sub.Spec.Cancel && err == nil: // a start may be in flight, so the ledger decides which came first
		return ctrl.Result{}, r.Runner.Engine.Start(record, started, agent.Cancelled{By: run.CancelledBy(sub)})
	case missing:
		r.Runner.Engine.ReleaseSlot(string(sub.UID)) // free the slot for others while a reference is missing
		return r.waitFor(ctx, sub, condition)
	case errors.As(err, &invalid):
		return r.fail(ctx, sub, v1alpha1.ErrorInvalidSpec, invalid.Error())
	case err != nil:
		return ctrl.Result{}, err
	}
	if err := r.Runner.Engine.CheckOwned(record.ShardHash); err != nil {
		return ctrl.Result{}, err // it starts when the shard is taken over
	}
	name := client.ObjectKeyFromObject(sub)
	if !r.Runner.Engine.AcquireSlot(record, func() { r.Changed.Add(name) }) {
		if q, ok := r.Runner.Engine.WaitsForActiveQuota(ctx, sub.Namespace, record.UID); ok {
			return r.waitFor(ctx, sub, status.NotReady(sub.Generation, v1alpha1.ReasonQuotaExhausted, quota.TooManyActive(q)))
		}
		return r.waitFor(ctx, sub, status.NotReady(sub.Generation, v1alpha1.ReasonParallelLimit,
			"It starts when fewer sub-agents of the chat are active (limits.maxParallelTasks)."))
	}
	return ctrl.Result{}, r.Runner.Engine.Start(record, started)
}

// prepare resolves the references of the agent and its place in its tree.
func (r *Reconciler) prepare(ctx context.Context, sub *v1alpha1.SubAgent, lineage cluster.Lineage) (ledger.Agent, agent.Started, error) {
	resolved, err := r.Runner.Config.Resolve(ctx, agentconfig.Subject{
		Kind: agent.SubAgent, Object: sub, Namespace: sub.Namespace, Name: sub.Name, Role: sub.Spec.Role, Provider: sub.Spec.ModelProvider, Model: sub.Spec.Model,
		Depth: int(sub.Spec.Depth), MaxDepth: int(sub.Spec.Limits.MaxDepth), AgentLimits: &sub.Spec.Limits, OutputSchema: sub.Spec.OutputSchema,
	})
	if err != nil {
		return ledger.Agent{}, agent.Started{}, err
	}
	started := agent.Started{Config: resolved.Config}
	started.Config.Task = taskOf(sub)
	if sub.Spec.Task != sub.Name {
		started.Config.TaskName = sub.Spec.Task
	}
	record := ledger.Agent{
		UID: string(sub.UID), Kind: "SubAgent", Namespace: sub.Namespace, NamespaceUID: resolved.NamespaceUID, Name: sub.Name, Root: string(sub.UID), Chat: sub.Spec.Chat,
		ShardHash: shard.Hash(string(cluster.RootUID(sub))),
		Role:      sub.Spec.Role, Depth: int(sub.Spec.Depth), Provider: resolved.Provider, Model: resolved.Model, CreatedAt: sub.CreationTimestamp.Time,
	}
	if err := r.place(ctx, sub, lineage, &record, &started); err != nil {
		return record, started, err
	}
	started, err = r.continueFrom(ctx, sub, record.Root, started)
	return record, started, err
}

// place finds the parent of the agent and the root of its tree.
func (r *Reconciler) place(ctx context.Context, sub *v1alpha1.SubAgent, lineage cluster.Lineage, record *ledger.Agent, started *agent.Started) error {
	if lineage.Parent == nil {
		return nil
	}
	record.Parent = string(lineage.Parent.GetUID())
	if lineage.Chat != nil {
		record.Root, record.ShardHash = string(lineage.Chat.UID), shard.Hash(string(lineage.Chat.UID))
	} else {
		above, err := r.Runner.Engine.Lookup(ctx, record.Parent)
		if err != nil {
			return fmt.Errorf("find the top of the tree of sub-agent %s/%s: %w", sub.Namespace, sub.Name, err)
		}
		record.Root, record.ShardHash = above.Root, above.ShardHash
	}
	state, found, err := r.Runner.State(ctx, record.Parent)
	if err != nil || !found {
		return err
	}
	started.Config.ParentRole = state.Config.Role.Display()
	if state.IsReviewer(sub.Spec.Task) {
		started.Config.Review = nil // a reviewer is not reviewed itself
	}
	started.Config.Origin = state.ChildOrigin(sub.Spec.Task)
	started.Config.Task.Context = state.ContextFor(sub.Spec.Task, started.Config.Limits.SharedContextTokens())
	return nil
}

// fail ends an agent that never started, or whose history is lost.
func (r *Reconciler) fail(ctx context.Context, sub *v1alpha1.SubAgent, kind v1alpha1.ErrorKind, message string) (ctrl.Result, error) {
	switch sub.Status.Phase {
	case v1alpha1.SubAgentFailed, v1alpha1.SubAgentCompleted:
		return ctrl.Result{}, nil // it had ended, and the ledger may have pruned it
	}
	next := projection.SubAgentRun(sub.DeepCopy())
	next.Fail(v1alpha1.RunError{Kind: kind, Message: message}, run.Now())
	return r.writeStatus(ctx, sub, next)
}

// waitFor shows the missing reference of a sub-agent.
func (r *Reconciler) waitFor(ctx context.Context, sub *v1alpha1.SubAgent, missing metav1.Condition) (ctrl.Result, error) {
	next := projection.SubAgentRun(sub.DeepCopy())
	next.Wait(missing.Reason, missing.Message, run.Now())
	return r.writeStatus(ctx, sub, next)
}

// writeStatus writes the status of an agent that has not started. Its task shows the same reason.
func (r *Reconciler) writeStatus(ctx context.Context, sub *v1alpha1.SubAgent, next projection.Run) (ctrl.Result, error) {
	return status.Write(ctx, r.Runner.Status, sub, &sub.Status, next.SubAgent.Status, false)
}
