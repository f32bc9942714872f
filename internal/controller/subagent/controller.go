// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package subagent runs the agent of every SubAgent.
package subagent

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
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/controller/poke"
	"github.com/nestor-dev/nestor/internal/controller/run"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/projection"
)

// lookAgain is how soon an agent that lacks something is looked at again, in case no watch tells.
const lookAgain = 5 * time.Second

// Reconciler runs sub-agents.
type Reconciler struct {
	Client  client.Client
	Runner  *run.Runner
	Changed *poke.Queue
	Known   *run.Known
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("subagent").
		For(&v1alpha1.SubAgent{}).
		Owns(&v1alpha1.AgentTask{}).
		WatchesRawSource(r.Changed.Source()).
		Complete(r)
}

// +kubebuilder:rbac:groups=nestor.dev,resources=subagents,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups=nestor.dev,resources=subagents/status,verbs=get;update
// +kubebuilder:rbac:groups=nestor.dev,resources=subagents/finalizers,verbs=update

// Reconcile brings a SubAgent and its agent together.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var sub v1alpha1.SubAgent
	if alive, err := r.Known.Fetch(ctx, r.Client, req.NamespacedName, &sub); err != nil || !alive {
		return ctrl.Result{}, err
	}
	state, begun, err := r.Runner.State(ctx, string(sub.UID))
	if err != nil {
		return ctrl.Result{}, err
	}
	if !begun {
		return r.begin(ctx, &sub)
	}
	r.Known.Set(req.NamespacedName, sub.UID)
	if sub.Spec.Cancel && !state.Phase.Terminal() && state.Phase != agent.PhaseCancelling {
		if err := r.Runner.Engine.Deliver(string(sub.UID), agent.Cancelled{}); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.Runner.Apply(ctx, run.Owner{Object: &sub, Chat: sub.Spec.Chat, Parent: sub.Name}, state); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.write(ctx, &sub, projection.SubAgent(state, sub.Status, sub.Generation))
}

// begin starts the agent, once everything that it needs is there.
func (r *Reconciler) begin(ctx context.Context, sub *v1alpha1.SubAgent) (ctrl.Result, error) {
	if sub.Status.StartTime != nil {
		return ctrl.Result{}, r.lost(ctx, sub)
	}
	resolved, err := r.Runner.Resolve(ctx, run.Subject{
		Kind: agent.SubAgent, Object: sub, Namespace: sub.Namespace, Name: sub.Name, Role: sub.Spec.Role, Provider: sub.Spec.ModelProvider, Model: sub.Spec.Model,
		Depth: int(sub.Spec.Depth), MaxDepth: int(sub.Spec.Limits.MaxDepth),
	})
	if err == nil {
		resolved.Config.Limits = tightened(resolved.Config.Limits, sub.Spec.Limits)
		err = resolved.NeedsPrice()
	}
	if condition, missing := status.FromMissing(sub.Generation, err); missing {
		return ctrl.Result{RequeueAfter: lookAgain}, r.waitFor(ctx, sub, condition)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	started := agent.Started{Config: resolved.Config}
	started.Config.Task = taskOf(sub)
	record := ledger.Agent{
		UID: string(sub.UID), Kind: "SubAgent", Namespace: sub.Namespace, Name: sub.Name, Root: string(sub.UID), Chat: sub.Spec.Chat,
		Role: sub.Spec.Role, Depth: int(sub.Spec.Depth), Provider: resolved.Provider, Model: resolved.Model, CreatedAt: sub.CreationTimestamp.Time,
	}
	if err := r.place(ctx, sub, &record, &started); err != nil {
		return ctrl.Result{}, err
	}
	if from := sub.Spec.ContinueFrom; from != "" {
		earlier, found, err := r.Runner.TaskState(ctx, types.NamespacedName{Namespace: sub.Namespace, Name: from})
		if err != nil {
			return ctrl.Result{}, err
		}
		if !found {
			return ctrl.Result{RequeueAfter: lookAgain}, r.waitFor(ctx, sub, status.NotReady(sub.Generation, v1alpha1.ReasonSubAgentNotFound,
				fmt.Sprintf("continueFrom names %q, which does not exist here.", from)))
		}
		started.History = earlier.History.Messages()
	}
	r.Known.Set(client.ObjectKeyFromObject(sub), sub.UID)
	return ctrl.Result{}, r.Runner.Engine.Start(record, started)
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
		if sub.Spec.Chat == "" {
			record.Root = uid
		}
	}
	if uid == "" {
		return nil
	}
	state, found, err := r.Runner.State(ctx, uid)
	if err != nil || !found {
		return err
	}
	started.Config.ParentRole = state.Config.Role.Display()
	started.Config.Task.Context = contextOf(sub.Spec.Context, sub.Spec.ContextFiles, state)
	return nil
}

// lost says that an agent had begun and that the ledger knows nothing of it.
func (r *Reconciler) lost(ctx context.Context, sub *v1alpha1.SubAgent) error {
	next := *sub.Status.DeepCopy()
	if next.Phase == v1alpha1.SubAgentFailed || next.Phase == v1alpha1.SubAgentCompleted {
		return nil // it had ended; the ledger need not keep it for ever
	}
	const words = "The agent had begun, but the ledger has no events of it. Create the task again."
	next.Phase, next.Error = v1alpha1.SubAgentFailed, &v1alpha1.RunError{Kind: v1alpha1.ErrorHistoryLost, Message: words}
	meta.SetStatusCondition(&next.Conditions, metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse,
		Reason: string(v1alpha1.ErrorHistoryLost), Message: words, ObservedGeneration: sub.Generation})
	return r.write(ctx, sub, next)
}

// waitFor shows what a run waits for.
func (r *Reconciler) waitFor(ctx context.Context, sub *v1alpha1.SubAgent, missing metav1.Condition) error {
	next := *sub.Status.DeepCopy()
	next.Phase = v1alpha1.SubAgentPending
	missing.Type, missing.Status = v1alpha1.ConditionSucceeded, metav1.ConditionUnknown
	meta.SetStatusCondition(&next.Conditions, missing)
	return r.write(ctx, sub, next)
}

// write writes the status of a sub-agent, if it changed.
func (r *Reconciler) write(ctx context.Context, sub *v1alpha1.SubAgent, next v1alpha1.SubAgentStatus) error {
	if equality.Semantic.DeepEqual(sub.Status, next) {
		return nil
	}
	sub.Status = next
	return status.Update(ctx, r.Client, sub)
}
