// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package subagent runs the agent of every SubAgent.
package subagent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/controller/poke"
	"github.com/nestor-dev/nestor/internal/controller/run"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/projection"
)

// workers is how many sub-agents are looked at together.
const workers = 16

// Reconciler runs sub-agents.
type Reconciler struct {
	Client client.Client
	Runner *run.Runner
	// Changed is told of sub-agents that have moved on.
	Changed *poke.Queue
	Known   *run.Known
	// Lacking remembers the sub-agents that wait for something that they refer to.
	Lacking *run.Lacking
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("subagent").
		For(&v1alpha1.SubAgent{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.AgentTask{}, r.Changed.Soon(parentOf), builder.WithPredicates(run.PhaseChanged())).
		Watches(&v1alpha1.AgentTask{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(run.Ended())).
		WatchesRawSource(r.Changed.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// parentOf is the sub-agent that asked for a task, if one did.
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

// Reconcile brings a SubAgent and its agent together.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var sub v1alpha1.SubAgent
	if alive, err := r.Known.Fetch(ctx, req.NamespacedName, &sub); err != nil || !alive {
		return ctrl.Result{}, err
	}
	state, begun, err := r.Runner.State(ctx, string(sub.UID))
	if err != nil {
		return ctrl.Result{}, err
	}
	if !begun {
		return r.begin(ctx, &sub)
	}
	if sub.Spec.Cancel && !state.Phase.Terminal() && state.Phase != agent.PhaseCancelling {
		if err := r.Runner.Engine.Deliver(string(sub.UID), agent.Cancelled{}); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.Runner.Apply(ctx, run.Owner{Object: &sub, Chat: sub.Spec.Chat, Parent: sub.Name}, state); err != nil {
		return status.Result(err)
	}
	if wait, err := r.taskFirst(ctx, &sub, state); err != nil || wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, err
	}
	next := projection.SubAgent(state, sub.Status, sub.Generation)
	return run.Show(ctx, r.Runner, &sub, &sub.Status, next, progress(sub.Status, next))
}

// progress says whether a change may be shown later: that the agent is at work, and how far. That it goes on after a person's answer,
// or asks the next question, may not.
func progress(before, next v1alpha1.SubAgentStatus) bool {
	waited := before.Phase == v1alpha1.SubAgentWaitingForUser || before.Phase == v1alpha1.SubAgentAwaitingApproval
	if next.Phase == before.Phase {
		return next.Question == before.Question
	}
	return next.Phase == v1alpha1.SubAgentActive && !waited
}

// behindTask is how long a sub-agent that has ended waits for its task to say so.
const behindTask = 5 * time.Second

// taskFirst is how long to wait before an end is shown: people and programs watch the task, so it is written first. Its event
// wakes the sub-agent.
func (r *Reconciler) taskFirst(ctx context.Context, sub *v1alpha1.SubAgent, state agent.State) (time.Duration, error) {
	left := behindTask - time.Since(time.UnixMilli(int64(state.Clock.Now)))
	if !state.Phase.Terminal() || left <= 0 || left > behindTask { // an end in the future is by another clock
		return 0, nil
	}
	var task v1alpha1.AgentTask
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: sub.Namespace, Name: sub.Spec.Task}, &task)
	if err != nil || task.Status.CompletionTime != nil {
		return 0, client.IgnoreNotFound(err)
	}
	return left, nil
}

// begin starts the agent, once everything that it needs is there.
func (r *Reconciler) begin(ctx context.Context, sub *v1alpha1.SubAgent) (ctrl.Result, error) {
	if sub.Status.Error != nil {
		return ctrl.Result{}, nil // it never will
	}
	if sub.Status.StartTime != nil {
		return r.fail(ctx, sub, v1alpha1.ErrorHistoryLost, "The agent had begun, but the ledger has no events of it. Create the task again.")
	}
	if !r.Runner.Engine.Recovered() {
		return ctrl.Result{RequeueAfter: recovering}, nil
	}
	record, started, err := r.prepare(ctx, sub)
	condition, missing := status.FromMissing(sub.Generation, err)
	r.Lacking.Set(client.ObjectKeyFromObject(sub), missing && !sub.Spec.Cancel)
	var invalid *invalidError
	switch {
	case sub.Spec.Cancel && (missing || errors.As(err, &invalid)):
		return r.fail(ctx, sub, v1alpha1.ErrorCancelled, "It was cancelled before it began.")
	case sub.Spec.Cancel && err == nil: // a start may be on its way to the ledger, so only there it is certain what came first
		return ctrl.Result{}, r.Runner.Engine.Start(record, started, agent.Cancelled{})
	case missing:
		return r.waitFor(ctx, sub, condition)
	case errors.As(err, &invalid):
		return r.fail(ctx, sub, v1alpha1.ErrorInvalidSpec, invalid.Error())
	case err != nil:
		return ctrl.Result{}, err
	}
	name := client.ObjectKeyFromObject(sub)
	limit, err := r.parallel(ctx, sub)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !r.Runner.Engine.TakeSlot(record.Root, record.UID, limit, func() { r.Changed.Add(name) }) {
		return r.waitFor(ctx, sub, status.NotReady(sub.Generation, v1alpha1.ReasonParallelLimit,
			fmt.Sprintf("It begins when fewer than %d sub-agents of the chat are at work (limits.maxParallelTasks).", limit)))
	}
	return ctrl.Result{}, r.Runner.Engine.Start(record, started)
}

// recovering is how soon to look again while the engine takes over what another one has left.
const recovering = 50 * time.Millisecond

// parallel is how many sub-agents of the same chat may be at work; 0 is any number.
func (r *Reconciler) parallel(ctx context.Context, sub *v1alpha1.SubAgent) (int, error) {
	if sub.Spec.Chat == "" {
		return 0, nil
	}
	var chat v1alpha1.AgentChat
	if err := r.Client.Get(ctx, types.NamespacedName{Namespace: sub.Namespace, Name: sub.Spec.Chat}, &chat); err != nil {
		return 0, fmt.Errorf("get chat %s/%s: %w", sub.Namespace, sub.Spec.Chat, err)
	}
	return int(chat.Spec.Limits.MaxParallelTasks), nil
}

// prepare finds everything that the agent needs, and its place in its tree.
func (r *Reconciler) prepare(ctx context.Context, sub *v1alpha1.SubAgent) (ledger.Agent, agent.Started, error) {
	resolved, err := r.Runner.Resolve(ctx, run.Subject{
		Kind: agent.SubAgent, Object: sub, Namespace: sub.Namespace, Name: sub.Name, Role: sub.Spec.Role, Provider: sub.Spec.ModelProvider, Model: sub.Spec.Model,
		Depth: int(sub.Spec.Depth), MaxDepth: int(sub.Spec.Limits.MaxDepth),
	})
	if err == nil {
		resolved.Config.Limits = tightened(resolved.Config.Limits, sub.Spec.Limits)
		err = resolved.NeedsPrice()
	}
	if err != nil {
		return ledger.Agent{}, agent.Started{}, err
	}
	started := agent.Started{Config: resolved.Config}
	started.Config.Task = taskOf(sub)
	record := ledger.Agent{
		UID: string(sub.UID), Kind: "SubAgent", Namespace: sub.Namespace, Name: sub.Name, Root: string(sub.UID), Chat: sub.Spec.Chat,
		Role: sub.Spec.Role, Depth: int(sub.Spec.Depth), Provider: resolved.Provider, Model: resolved.Model, CreatedAt: sub.CreationTimestamp.Time,
	}
	if err := r.place(ctx, sub, &record, &started); err != nil {
		return record, started, err
	}
	started.History, err = r.earlier(ctx, sub)
	return record, started, err
}

// place finds the agent's place in its tree: who asked for it, and who is at the top.
func (r *Reconciler) place(ctx context.Context, sub *v1alpha1.SubAgent, record *ledger.Agent, started *agent.Started) error {
	if sub.Spec.Chat != "" {
		uid, err := r.Runner.ChatUID(ctx, sub.Namespace, sub.Spec.Chat)
		if err != nil {
			return err
		}
		record.Root, record.Parent = uid, uid
	}
	uid := record.Parent
	if sub.Spec.Parent != "" {
		var parent v1alpha1.SubAgent
		if err := r.Client.Get(ctx, types.NamespacedName{Namespace: sub.Namespace, Name: sub.Spec.Parent}, &parent); err != nil {
			return fmt.Errorf("get the parent of sub-agent %s/%s: %w", sub.Namespace, sub.Name, err)
		}
		uid = string(parent.UID)
		record.Parent = uid
		above, err := r.Runner.Engine.Lookup(ctx, uid)
		if err != nil {
			return fmt.Errorf("find the top of the tree of sub-agent %s/%s: %w", sub.Namespace, sub.Name, err)
		}
		record.Root = above.Root
	}
	if uid == "" {
		return nil
	}
	state, found, err := r.Runner.State(ctx, uid)
	if err != nil || !found {
		return err
	}
	started.Config.ParentRole = state.Config.Role.Display()
	started.Config.Origin = state.OriginOf(sub.Name)
	started.Config.Task.Context = contextOf(sub.Spec.Context, sub.Spec.ContextFiles, state)
	return nil
}

// fail ends an agent that never began, or whose history is gone.
func (r *Reconciler) fail(ctx context.Context, sub *v1alpha1.SubAgent, kind v1alpha1.ErrorKind, words string) (ctrl.Result, error) {
	next := *sub.Status.DeepCopy()
	if next.Phase == v1alpha1.SubAgentFailed || next.Phase == v1alpha1.SubAgentCompleted {
		return ctrl.Result{}, nil // it had ended; the ledger need not keep it for ever
	}
	next.Phase, next.Error = v1alpha1.SubAgentFailed, &v1alpha1.RunError{Kind: kind, Message: words}
	now := metav1.Now()
	next.CompletionTime = &now
	meta.SetStatusCondition(&next.Conditions, metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse,
		Reason: string(kind), Message: words, ObservedGeneration: sub.Generation})
	return r.show(ctx, sub, next)
}

// waitFor shows what a run waits for.
func (r *Reconciler) waitFor(ctx context.Context, sub *v1alpha1.SubAgent, missing metav1.Condition) (ctrl.Result, error) {
	next := *sub.Status.DeepCopy()
	next.Phase = v1alpha1.SubAgentPending
	missing.Type, missing.Status = v1alpha1.ConditionSucceeded, metav1.ConditionUnknown
	meta.SetStatusCondition(&next.Conditions, missing)
	return r.show(ctx, sub, next)
}

// show writes what stands in the way of an agent that has not begun. Its task sees it, and shows it too.
func (r *Reconciler) show(ctx context.Context, sub *v1alpha1.SubAgent, next v1alpha1.SubAgentStatus) (ctrl.Result, error) {
	return run.Show(ctx, r.Runner, sub, &sub.Status, next, false)
}
