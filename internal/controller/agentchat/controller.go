// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package agentchat runs the orchestrator of every AgentChat.
package agentchat

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
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

// lookAgain is how soon a chat that lacks something is looked at again, in case no watch tells.
const lookAgain = 5 * time.Second

// Reconciler runs orchestrators.
type Reconciler struct {
	Client client.Client
	Runner *run.Runner
	// Changed is told of chats whose orchestrator has moved on.
	Changed *poke.Queue
	// Known remembers under which UID the engine knows an object, for when the object is gone.
	Known *run.Known
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("agentchat").
		For(&v1alpha1.AgentChat{}).
		Owns(&v1alpha1.AgentTask{}).
		Owns(&v1alpha1.AgentMessage{}).
		WatchesRawSource(r.Changed.Source()).
		Complete(r)
}

// +kubebuilder:rbac:groups=nestor.dev,resources=agentchats,verbs=get;list;watch
// +kubebuilder:rbac:groups=nestor.dev,resources=agentchats/status,verbs=get;update
// +kubebuilder:rbac:groups=nestor.dev,resources=agentchats/finalizers,verbs=update
// +kubebuilder:rbac:groups=nestor.dev,resources=agenttasks;agentmessages,verbs=get;list;watch;create;update

// Reconcile brings a chat and its orchestrator together.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var chat v1alpha1.AgentChat
	if alive, err := r.Known.Fetch(ctx, r.Client, req.NamespacedName, &chat); err != nil || !alive {
		return ctrl.Result{}, err
	}
	state, begun, err := r.Runner.State(ctx, string(chat.UID))
	if err != nil {
		return ctrl.Result{}, err
	}
	if !begun {
		return r.begin(ctx, &chat)
	}
	r.Known.Set(req.NamespacedName, chat.UID)
	if err := r.Runner.Apply(ctx, run.Owner{Object: &chat, Chat: chat.Name}, state); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.settleAsks(ctx, &chat, state); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.project(ctx, &chat, state)
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
	if condition, missing := status.FromMissing(chat.Generation, err); missing {
		return ctrl.Result{RequeueAfter: lookAgain}, status.Write(ctx, r.Client, chat, &chat.Status.Conditions, condition, func() {
			chat.Status.Phase = v1alpha1.ChatIdle
		})
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	resolved.Config.AutoAnswer = autoAnswer(chat.Spec.AutoAnswer)
	r.Known.Set(client.ObjectKeyFromObject(chat), chat.UID)
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
		state, found, err := r.Runner.TaskState(ctx, types.NamespacedName{Namespace: chat.Namespace, Name: ask.Agent})
		if err != nil {
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

// project writes the chat's status, if it changed.
func (r *Reconciler) project(ctx context.Context, chat *v1alpha1.AgentChat, s agent.State) error {
	facts, err := r.facts(ctx, chat)
	if err != nil {
		return err
	}
	next := projection.Chat(s, facts, chat.Status, chat.Generation)
	if equality.Semantic.DeepEqual(chat.Status, next) {
		return nil
	}
	chat.Status = next
	return status.Update(ctx, r.Client, chat)
}

// facts counts what belongs to the chat.
func (r *Reconciler) facts(ctx context.Context, chat *v1alpha1.AgentChat) (projection.ChatFacts, error) {
	var facts projection.ChatFacts
	var tasks v1alpha1.AgentTaskList
	if err := r.Client.List(ctx, &tasks, client.InNamespace(chat.Namespace), client.MatchingLabels{v1alpha1.LabelChat: chat.Name}); err != nil {
		return facts, fmt.Errorf("list the tasks of chat %s/%s: %w", chat.Namespace, chat.Name, err)
	}
	for i := range tasks.Items {
		switch tasks.Items[i].Status.Phase {
		case v1alpha1.TaskRunning:
			facts.Tasks.Running++
		case v1alpha1.TaskWaiting:
			facts.Tasks.Waiting++
		case v1alpha1.TaskSuccess:
			facts.Tasks.Success++
		case v1alpha1.TaskFailed:
			facts.Tasks.Failed++
		case v1alpha1.TaskCancelled:
			facts.Tasks.Cancelled++
		default:
			facts.Tasks.Pending++
		}
	}
	var messages v1alpha1.AgentMessageList
	if err := r.Client.List(ctx, &messages, client.InNamespace(chat.Namespace), client.MatchingLabels{v1alpha1.LabelChat: chat.Name}); err != nil {
		return facts, fmt.Errorf("list the messages of chat %s/%s: %w", chat.Namespace, chat.Name, err)
	}
	facts.Messages = int32(len(messages.Items))
	var newest *v1alpha1.AgentMessage
	for i := range messages.Items {
		m := &messages.Items[i]
		if newest == nil || newest.CreationTimestamp.Before(&m.CreationTimestamp) ||
			(newest.CreationTimestamp.Equal(&m.CreationTimestamp) && newest.Name < m.Name) {
			newest = m
		}
	}
	if newest != nil {
		facts.LastMessage = newest.Name
	}
	return facts, nil
}
