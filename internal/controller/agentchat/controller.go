// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package agentchat runs the orchestrator of every AgentChat.
package agentchat

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/controller/poke"
	"github.com/nestor-dev/nestor/internal/controller/run"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/projection"
)

// workers is how many chats are looked at together.
const workers = 8

// Reconciler runs orchestrators.
type Reconciler struct {
	Client client.Client
	Runner *run.Runner
	// Changed is told of chats whose orchestrator has moved on.
	Changed *poke.Queue
	// Known remembers under which UID the engine knows an object, for when the object is gone.
	Known *run.Known
	// Lacking remembers the chats that wait for something that they refer to.
	Lacking *run.Lacking
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("agentchat").
		For(&v1alpha1.AgentChat{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.AgentTask{}, r.Changed.Soon(chatOf), builder.WithPredicates(run.PhaseChanged())).
		Watches(&v1alpha1.AgentMessage{}, r.Changed.Soon(chatOf), builder.WithPredicates(run.CameOrWent())).
		WatchesRawSource(r.Changed.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// chatOf is the chat whose counts an object is part of.
func chatOf(object client.Object) (types.NamespacedName, bool) {
	name := run.ChatOf(object)
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: name}, name != ""
}

// +kubebuilder:rbac:groups=nestor.dev,resources=agentchats,verbs=get;list;watch
// +kubebuilder:rbac:groups=nestor.dev,resources=agentchats/status,verbs=get;update
// +kubebuilder:rbac:groups=nestor.dev,resources=agentchats/finalizers,verbs=update
// +kubebuilder:rbac:groups=nestor.dev,resources=agenttasks;agentmessages,verbs=get;list;watch;create;update

// Reconcile brings a chat and its orchestrator together.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var chat v1alpha1.AgentChat
	if alive, err := r.Known.Fetch(ctx, req.NamespacedName, &chat); err != nil || !alive {
		return ctrl.Result{}, err
	}
	state, begun, err := r.Runner.State(ctx, string(chat.UID))
	if err != nil {
		return ctrl.Result{}, err
	}
	if !begun {
		return r.begin(ctx, &chat)
	}
	if err := r.Runner.Apply(ctx, run.Owner{Object: &chat, Chat: chat.Name}, state); err != nil {
		return status.Result(err)
	}
	if err := r.settleAsks(ctx, &chat, state); err != nil {
		return ctrl.Result{}, err
	}
	return r.project(ctx, &chat, state)
}

// begin starts the orchestrator, once everything that it needs is there.
func (r *Reconciler) begin(ctx context.Context, chat *v1alpha1.AgentChat) (ctrl.Result, error) {
	resolved, err := r.Runner.Resolve(ctx, run.Subject{
		Kind: agent.Orchestrator, Object: chat, Namespace: chat.Namespace, Name: chat.Name, Role: chat.Spec.Role,
		Provider: chat.Spec.ModelProvider, Model: chat.Spec.Model, MaxDepth: int(chat.Spec.Limits.MaxDepth),
	})
	if err == nil {
		resolved.Config.Limits.MaxTokens = chat.Spec.Limits.MaxTotalTokens
		resolved.Config.Limits.MaxCostMicros = chat.Spec.Limits.MaxCostMicros
		err = resolved.NeedsPrice()
	}
	condition, missing := status.FromMissing(chat.Generation, err)
	r.Lacking.Set(client.ObjectKeyFromObject(chat), missing)
	if missing {
		next := *chat.Status.DeepCopy()
		next.Phase = v1alpha1.ChatIdle
		meta.SetStatusCondition(&next.Conditions, condition)
		return run.Show(ctx, r.Runner, chat, &chat.Status, next, false)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	resolved.Config.AutoAnswer = autoAnswer(chat.Spec.AutoAnswer)
	return ctrl.Result{}, r.Runner.Engine.Start(ledger.Agent{
		UID: string(chat.UID), Kind: "AgentChat", Namespace: chat.Namespace, Name: chat.Name, Root: string(chat.UID), Chat: chat.Name,
		Role: chat.Spec.Role, Provider: resolved.Provider, Model: resolved.Model, CreatedAt: chat.CreationTimestamp.Time,
	}, agent.Started{Config: resolved.Config})
}

func autoAnswer(spec v1alpha1.AutoAnswer) agent.AutoAnswer {
	out := agent.AutoAnswer{Enabled: true, MinConfidence: 70, MaxPerQuestion: 2}
	if spec.Enabled != nil {
		out.Enabled = *spec.Enabled
	}
	if spec.MinConfidence != nil {
		out.MinConfidence = int(*spec.MinConfidence)
	}
	if spec.MaxPerQuestion != nil {
		out.MaxPerQuestion = int(*spec.MaxPerQuestion)
	}
	return out
}

// settleAsks closes what nobody waits for any more: an agent that was answered, approved or cancelled on another way.
func (r *Reconciler) settleAsks(ctx context.Context, chat *v1alpha1.AgentChat, s agent.State) error {
	for _, ask := range s.Asks {
		if !ask.Open {
			continue
		}
		name := types.NamespacedName{Namespace: chat.Namespace, Name: ask.Agent}
		state, found, err := r.Runner.TaskState(ctx, name)
		if err != nil {
			return err
		}
		if found && waitsFor(state, ask.Call) {
			continue
		}
		// What is settled is never asked again: a question that only this operator has not heard of must stay open.
		if state, found, err = r.Runner.NewestTaskState(ctx, name); err != nil {
			return err
		}
		if found && waitsFor(state, ask.Call) {
			continue
		}
		if err := r.Runner.Engine.Deliver(string(chat.UID), agent.Settled{Agent: ask.Agent, Call: ask.Call, Gone: !found || state.Phase.Terminal()}); err != nil {
			return err
		}
	}
	return nil
}

func waitsFor(s agent.State, call string) bool {
	for _, e := range agent.Outstanding(s) {
		if ask, ok := e.(agent.AskPerson); ok && ask.Call == call {
			return true
		}
	}
	return false
}

// project writes the chat's status, if it changed. That a turn or a task is at work, and how far, is progress.
func (r *Reconciler) project(ctx context.Context, chat *v1alpha1.AgentChat, s agent.State) (ctrl.Result, error) {
	facts, err := r.facts(ctx, chat)
	if err != nil {
		return ctrl.Result{}, err
	}
	next := projection.Chat(s, facts, chat.Status, chat.Generation)
	progress := len(chat.Status.Conditions) > 0 && equality.Semantic.DeepEqual(chat.Status.Waiting, next.Waiting) &&
		equality.Semantic.DeepEqual(chat.Status.Conditions, next.Conditions) && (next.Phase == chat.Status.Phase || next.Phase == v1alpha1.ChatRunning)
	return run.Show(ctx, r.Runner, chat, &chat.Status, next, progress)
}

// facts counts what belongs to the chat.
func (r *Reconciler) facts(ctx context.Context, chat *v1alpha1.AgentChat) (projection.ChatFacts, error) {
	var facts projection.ChatFacts
	ours := []client.ListOption{client.InNamespace(chat.Namespace), client.MatchingFields{run.ChatField: chat.Name}, client.UnsafeDisableDeepCopy}
	var tasks v1alpha1.AgentTaskList
	if err := r.Client.List(ctx, &tasks, ours...); err != nil {
		return facts, fmt.Errorf("list the tasks of chat %s/%s: %w", chat.Namespace, chat.Name, err)
	}
	for i := range tasks.Items {
		count(&facts.Tasks, tasks.Items[i].Status.Phase)
	}
	var messages v1alpha1.AgentMessageList
	if err := r.Client.List(ctx, &messages, ours...); err != nil {
		return facts, fmt.Errorf("list the messages of chat %s/%s: %w", chat.Namespace, chat.Name, err)
	}
	facts.Messages = int32(len(messages.Items))
	var newest *v1alpha1.AgentMessage
	for i := range messages.Items {
		if m := &messages.Items[i]; newest == nil || later(m, newest) {
			newest = m
		}
	}
	if newest != nil {
		facts.LastMessage = newest.Name
	}
	return facts, nil
}

func count(counts *v1alpha1.TaskCounts, phase v1alpha1.TaskPhase) {
	switch phase {
	case v1alpha1.TaskRunning:
		counts.Running++
	case v1alpha1.TaskWaiting:
		counts.Waiting++
	case v1alpha1.TaskSuccess:
		counts.Success++
	case v1alpha1.TaskFailed:
		counts.Failed++
	case v1alpha1.TaskCancelled:
		counts.Cancelled++
	default:
		counts.Pending++
	}
}

// later says that a message came after another one. The API server's times are whole seconds: within one, an answer comes
// after what it answers, and the operator's posts are numbered.
func later(a, b *v1alpha1.AgentMessage) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return b.CreationTimestamp.Before(&a.CreationTimestamp)
	}
	if byUser := a.Spec.Role == v1alpha1.RoleUser; byUser != (b.Spec.Role == v1alpha1.RoleUser) {
		return !byUser
	}
	if len(a.Name) != len(b.Name) {
		return len(a.Name) > len(b.Name)
	}
	return a.Name > b.Name
}
