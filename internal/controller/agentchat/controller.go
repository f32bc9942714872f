// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package agentchat runs the orchestrator of every AgentChat.
package agentchat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/agents"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/projection"
)

// workers is the number of chats that are reconciled in parallel.
const workers = 8

// Reconciler runs orchestrators.
type Reconciler struct {
	Client client.Client
	Runner *agents.Runner
	// Changed queues the chats whose orchestrator has changed.
	Changed *cluster.Queue
	// Tracker maps objects to their engine UIDs, which are needed after an object is deleted.
	Tracker *agents.Tracker
	// Unresolved holds the chats that wait for a reference.
	Unresolved *cluster.Unresolved

	// lossReported maps the UID of each chat that has shown its history loss to the time of the loss.
	lossReported sync.Map
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("agentchat").
		For(&v1beta1.AgentChat{}, builder.WithPredicates(cluster.Edited())).
		Watches(&v1beta1.AgentTask{}, r.Changed.DelayedHandler(cluster.ChatKey), builder.WithPredicates(cluster.PhaseChanged())).
		Watches(&v1beta1.AgentMessage{}, r.Changed.DelayedHandler(cluster.ChatKey), builder.WithPredicates(predicate.Or(cluster.CreatedOrDeleted(), cluster.Handled()))).
		WatchesRawSource(r.Changed.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: cluster.Backoff()}).
		Complete(r.Runner.Gate.Agents(&v1beta1.AgentChat{}, r.Tracker, r))
}

// +kubebuilder:rbac:groups=nestor.dev,resources=agentchats,verbs=get;list;watch
// +kubebuilder:rbac:groups=nestor.dev,resources=agentchats/status,verbs=get;update
// +kubebuilder:rbac:groups=nestor.dev,resources=agentchats/finalizers,verbs=update
// +kubebuilder:rbac:groups=nestor.dev,resources=agenttasks;agentmessages,verbs=get;list;watch;create;update

// Reconcile starts, configures or ends the orchestrator of a chat, and writes the chat's status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var chat v1beta1.AgentChat
	if alive, err := r.Tracker.Fetch(ctx, req.NamespacedName, &chat); err != nil || !alive {
		return ctrl.Result{}, err
	}
	state, started, err := r.Runner.State(ctx, string(chat.UID))
	if err != nil {
		return r.reportOutage(ctx, &chat, err)
	}
	if !started {
		return r.start(ctx, &chat, state.HistoryLoss)
	}
	if err := r.reconfigure(ctx, &chat, state); err != nil {
		return r.reportOutage(ctx, &chat, err)
	}
	applied := r.Runner.Apply(ctx, agents.Owner{Object: &chat, Chat: chat.Name}, state)
	if _, down := r.Runner.Outage(applied); down {
		return r.reportOutage(ctx, &chat, applied)
	}
	return status.JoinError(applied)(r.project(ctx, &chat, state, applied))
}

// reportOutage ends a failed reconcile. If the ledger failed, it writes that to the chat's status.
func (r *Reconciler) reportOutage(ctx context.Context, chat *v1beta1.AgentChat, err error) (ctrl.Result, error) {
	outage, down := r.Runner.Outage(err)
	if !down {
		return status.Result(err)
	}
	next := chat.DeepCopy()
	next.Status = projection.ChatInterrupted(chat.Status, chat.Status.Conditions, outage, chat.Generation, agents.Now())
	return r.Runner.Status.WriteInterrupted(ctx, chat, next)
}

// project writes the chat's status if it changed. Changes that only show the progress of a turn or task may be delayed.
func (r *Reconciler) project(ctx context.Context, chat *v1beta1.AgentChat, s agent.State, applied error) (ctrl.Result, error) {
	facts, err := r.facts(ctx, chat)
	if err != nil {
		return ctrl.Result{}, err
	}
	if facts.ProviderReady, err = r.providerReady(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	facts.Work = r.Runner.Work(ctx, chat.Namespace, string(chat.UID))
	var refused *agents.PostRefusedError
	if errors.As(applied, &refused) {
		facts.PostRefused = refused.Err.Error()
	}
	next := chat.DeepCopy()
	next.Status = projection.Chat(s, facts, chat.Status, s.ObservedGeneration())
	if outage, down := r.Runner.Outage(r.Runner.Engine.Blocked(string(chat.UID))); down {
		next.Status = projection.ChatInterrupted(next.Status, chat.Status.Conditions, outage, chat.Generation, agents.Now())
		return r.Runner.Status.WriteInterrupted(ctx, chat, next)
	}
	return r.Runner.Status.Write(ctx, chat, next, isProgress(chat.Status, next.Status))
}

// modelFailed reports whether the model could not answer in the last turn.
func modelFailed(s agent.State) bool {
	return s.TurnFailure != nil && s.TurnFailure.Kind == agent.ErrorModel
}

// providerReady returns since when the provider of a chat is ready, if the model could not answer in the last turn.
func (r *Reconciler) providerReady(ctx context.Context, s agent.State) (*metav1.Time, error) {
	if !modelFailed(s) {
		return nil, nil
	}
	namespace, name, _ := strings.Cut(s.Config.Provider, "/")
	var provider v1beta1.ModelProvider
	if err := r.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &provider); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	ready := meta.FindStatusCondition(provider.Status.Conditions, v1beta1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue {
		return nil, nil
	}
	return &ready.LastTransitionTime, nil
}

// isProgress reports whether a change of the status may be delayed. An outage ends for all chats at the same time.
func isProgress(before, next v1beta1.AgentChatStatus) bool {
	ready := func(s v1beta1.AgentChatStatus) *metav1.Condition {
		return meta.FindStatusCondition(s.Conditions, v1beta1.ConditionReady)
	}
	return status.WasInterrupted(before.Conditions, v1beta1.ConditionReady) ||
		len(before.Conditions) > 0 && (next.Phase == before.Phase || next.Phase == v1beta1.ChatRunning) &&
			equality.Semantic.DeepEqual(before.Waiting, next.Waiting) && equality.Semantic.DeepEqual(ready(before), ready(next))
}

// facts counts the tasks and messages of the chat.
func (r *Reconciler) facts(ctx context.Context, chat *v1beta1.AgentChat) (projection.ChatFacts, error) {
	var facts projection.ChatFacts
	ours := []client.ListOption{client.InNamespace(chat.Namespace), client.MatchingFields{cluster.ChatField: chat.Name}, client.UnsafeDisableDeepCopy}
	var tasks v1beta1.AgentTaskList
	if err := r.Client.List(ctx, &tasks, ours...); err != nil {
		return facts, fmt.Errorf("list the tasks of chat %s/%s: %w", chat.Namespace, chat.Name, err)
	}
	for i := range tasks.Items {
		if ref := metav1.GetControllerOf(&tasks.Items[i]); ref == nil || ref.Kind == "AgentChat" && ref.UID != chat.UID {
			continue // it belongs to an earlier chat of the same name
		}
		facts.Tasks = projection.CountTask(facts.Tasks, tasks.Items[i].Status.Phase)
	}
	var messages v1beta1.AgentMessageList
	if err := r.Client.List(ctx, &messages, ours...); err != nil {
		return facts, fmt.Errorf("list the messages of chat %s/%s: %w", chat.Namespace, chat.Name, err)
	}
	var newest *v1beta1.AgentMessage
	for i := range messages.Items {
		m := &messages.Items[i]
		if cluster.OwnedByOther(m, chat) || (m.Spec.Role != v1beta1.RoleUser && !metav1.IsControlledBy(m, chat)) {
			continue
		}
		facts.Messages++
		if newest == nil || isLater(m, newest) {
			newest = m
		}
	}
	if newest != nil {
		facts.LastMessage, facts.LastMessageTime = newest.Name, newest.CreationTimestamp.DeepCopy()
	}
	return facts, nil
}

// isLater reports whether message a came after message b. The API server's timestamps are whole seconds: within the
// same second, an answer comes after its question, and the operator's posts are numbered.
func isLater(a, b *v1beta1.AgentMessage) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return b.CreationTimestamp.Before(&a.CreationTimestamp)
	}
	if byUser := a.Spec.Role == v1beta1.RoleUser; byUser != (b.Spec.Role == v1beta1.RoleUser) {
		return !byUser
	}
	if len(a.Name) != len(b.Name) {
		return len(a.Name) > len(b.Name)
	}
	return a.Name > b.Name
}
