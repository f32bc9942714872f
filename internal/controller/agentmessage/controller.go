// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package agentmessage delivers the messages of users: to the orchestrator, to an agent that asked a question, to a
// call that waits for a decision, or to a task that is to be cancelled.
package agentmessage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/agents"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

// Reconciler handles messages.
type Reconciler struct {
	Client client.Client
	Runner *agents.Runner
	// Changed queues the messages that can be handled now.
	Changed *cluster.Queue
	// Blocked is called with each chat or task that the ledger blocks while it has work.
	Blocked func(ledger.Agent)

	sequence sequence
	checker  tool.Checker
}

// workers is the number of messages that are handled in parallel. pendingGrace is how long a message may wait for a
// turn before its status shows it as pending.
const (
	workers      = 8
	pendingGrace = time.Second
)

// SetupWithManager registers the controller. A message may wait for a chat or task, so their changes enqueue it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("agentmessage").
		For(&v1beta1.AgentMessage{}, builder.WithPredicates(predicate.Or(cluster.Edited(), cluster.Released()))).
		Watches(&v1beta1.AgentChat{}, handler.EnqueueRequestsFromMapFunc(r.forChat), builder.WithPredicates(cluster.CreatedOrDeleted())).
		Watches(&v1beta1.AgentTask{}, handler.EnqueueRequestsFromMapFunc(r.forTask), builder.WithPredicates(cluster.CreatedOrDeleted())).
		WatchesRawSource(r.Changed.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: cluster.Backoff()}).
		Complete(r.Runner.Gate.Tree(&v1beta1.AgentMessage{}, r))
}

// +kubebuilder:rbac:groups=nestor.dev,resources=agentmessages,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups=nestor.dev,resources=agentmessages/status,verbs=get;update

// Reconcile handles one message.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var message v1beta1.AgentMessage
	if err := r.Client.Get(ctx, req.NamespacedName, &message); err != nil {
		r.sequence.remove(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if cluster.HasFinalPhase(&message) || !message.DeletionTimestamp.IsZero() {
		r.sequence.remove(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if cluster.IsHeld(&message) {
		return ctrl.Result{}, nil // it may be a duplicate; when its firing is confirmed, it is released
	}
	if message.Spec.Role != v1beta1.RoleUser {
		return status.Result(r.writeStatus(ctx, &message, posted()))
	}
	r.sequence.add(&message) // before the first write changes its resource version
	owner, err := r.owner(ctx, &message)
	if err != nil {
		return ctrl.Result{}, err
	}
	if owner == nil {
		return status.Result(r.writeStatus(ctx, &message, notFound(&message)))
	}
	if cluster.OwnedByOther(&message, owner) {
		return ctrl.Result{}, nil // it is deleted with an earlier chat or task of the same name
	}
	if err := r.adopt(ctx, owner, &message); err != nil {
		return status.Result(err)
	}
	result, err := r.handleInOrder(ctx, owner, &message)
	if outage, down := r.Runner.Outage(err); down {
		return r.reportOutage(ctx, owner, &message, pending(outage.Reason, "The message waits. "+outage.Message))
	}
	if err != nil || result == nil {
		return status.Result(err)
	}
	if young := pendingGrace - time.Since(message.CreationTimestamp.Time); result.phase == v1beta1.MessagePending && message.Status.Phase == "" && young > 0 {
		return ctrl.Result{RequeueAfter: young}, nil // most are handled before a user would see the status
	}
	return status.Result(r.writeStatus(ctx, &message, *result))
}

// reportOutage shows that a message waits for the ledger, and wakes its chat or task to show the same.
func (r *Reconciler) reportOutage(ctx context.Context, owner client.Object, message *v1beta1.AgentMessage, v outcome) (ctrl.Result, error) {
	waits := ledger.Agent{Kind: "AgentChat", Namespace: owner.GetNamespace(), Name: owner.GetName()}
	if message.Spec.StandaloneTask() != "" {
		waits.Kind = "AgentTask"
	}
	r.Blocked(waits)
	if err := r.writeStatus(ctx, message, v); err != nil {
		return status.Result(err)
	}
	return ctrl.Result{RequeueAfter: status.OutageRetryDelay()}, nil
}

// record records a fact of an agent. It does not wait for a ledger that does not respond: the fact stays in the agent's
// mailbox, and the next attempt reads the outcome.
func (r *Reconciler) record(ctx context.Context, uid string, fact agent.Fact, images ...ledger.Image) error {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	err := r.Runner.Engine.Record(ctx, uid, fact, images...)
	if blocked := r.Runner.Engine.Blocked(uid); err != nil && blocked != nil {
		return blocked
	}
	return err
}

// recordTimeout is how long to wait until a fact is durable.
const recordTimeout = 15 * time.Second

// owner returns the chat or standalone task that a message is for, or nil.
func (r *Reconciler) owner(ctx context.Context, message *v1beta1.AgentMessage) (client.Object, error) {
	var owner client.Object = &v1beta1.AgentChat{}
	name := message.Spec.Chat
	if message.Spec.StandaloneTask() != "" {
		owner, name = &v1beta1.AgentTask{}, message.Spec.StandaloneTask()
	}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: message.Namespace, Name: name}, owner)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get the chat or task of message %s/%s: %w", message.Namespace, message.Name, err)
	}
	return owner, nil
}

// adopt makes the chat or task the owner of the message, so that they are deleted together.
func (r *Reconciler) adopt(ctx context.Context, owner client.Object, message *v1beta1.AgentMessage) error {
	before := message.DeepCopy()
	if err := controllerutil.SetControllerReference(owner, message, r.Client.Scheme()); err != nil {
		return nil //nolint:nilerr // it already has another owner
	}
	cluster.SetRoot(message, owner)
	if message.Spec.Chat != "" {
		message.Labels[v1beta1.LabelChat] = message.Spec.Chat
	}
	if len(before.OwnerReferences) == len(message.OwnerReferences) && maps.Equal(before.Labels, message.Labels) {
		return nil
	}
	if err := r.confirmOwner(ctx, owner); err != nil {
		return err
	}
	if err := r.Client.Update(ctx, message); err != nil {
		return fmt.Errorf("adopt message %s/%s: %w", message.Namespace, message.Name, err)
	}
	return nil
}

// confirmOwner checks that the API server has the cached chat or task. An object that was deleted, and perhaps created
// again, must not adopt a message for its successor: the garbage collector would delete the message. The cache will
// soon be current, so the error is a conflict.
func (r *Reconciler) confirmOwner(ctx context.Context, owner client.Object) error {
	fresh := owner.DeepCopyObject().(client.Object)
	err := r.Runner.Live(ctx, client.ObjectKeyFromObject(owner), fresh)
	if err == nil && fresh.GetUID() == owner.GetUID() {
		return nil
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get the chat or task of a message: %w", err)
	}
	return apierrors.NewConflict(v1beta1.GroupVersion.WithResource("agentmessages").GroupResource(), owner.GetName(),
		errors.New("the chat or task of the message was deleted or replaced"))
}

// handle carries out a message. It returns the outcome, or nil if another component reports it.
func (r *Reconciler) handle(ctx context.Context, owner client.Object, message *v1beta1.AgentMessage) (*outcome, error) {
	if wasTaken, err := r.wasTaken(ctx, owner, message); err != nil || wasTaken {
		return new(taken()), err
	}
	switch {
	case message.Spec.Approval != nil:
		return r.decide(ctx, owner, message)
	case message.Spec.Revoke != nil:
		return r.revoke(ctx, owner, message)
	case message.Spec.Cancel != nil:
		return r.cancel(ctx, owner, message)
	case message.Spec.StandaloneTask() != "":
		return r.answer(ctx, owner, message)
	}
	return r.deliverMessage(ctx, owner, message)
}

// wasTaken reports whether the orchestrator of a chat has taken a message into a turn and waits until its status shows
// it.
func (r *Reconciler) wasTaken(ctx context.Context, owner client.Object, message *v1beta1.AgentMessage) (bool, error) {
	if message.Spec.Chat == "" {
		return false, nil
	}
	state, _, err := r.Runner.State(ctx, string(owner.GetUID()))
	return slices.ContainsFunc(state.Outbox, func(item agent.Item) bool {
		return item.Kind == agent.ItemHandled && item.Message == message.Name
	}), err
}

// deliverMessage delivers a message to the orchestrator, which reports when it has taken the message into a turn.
func (r *Reconciler) deliverMessage(ctx context.Context, chat client.Object, message *v1beta1.AgentMessage) (*outcome, error) {
	state, started, err := r.Runner.State(ctx, string(chat.GetUID()))
	if err != nil || !started {
		return new(pending(v1beta1.ReasonChatNotReady, "The message waits until the chat is ready: see the chat's conditions.")), err
	}
	delivered := new(pending(v1beta1.ReasonDelivered, "The message waits for the next turn."))
	if len(message.Spec.Attachments) > 0 && state.HasHandled(message.Name) {
		return delivered, nil // a ConfigMap that changes later has no effect
	}
	record, err := r.Runner.Engine.Lookup(ctx, string(chat.GetUID()))
	if err != nil {
		return nil, err
	}
	if err := r.Runner.Engine.LedgerFull(record.Namespace, record.NamespaceUID); err != nil {
		return nil, err
	}
	answers, call, err := r.questionOf(ctx, chat, message)
	if err != nil {
		return nil, err
	}
	read, rejection, err := r.readContent(ctx, message)
	if rejection != nil || err != nil {
		return rejection, err
	}
	fact := agent.MessageArrived{
		Message: message.Name, Text: read.text, Images: read.images, Answers: answers, Call: call,
		User: message.Spec.User, Unnamed: message.Spec.User == "", FireUser: message.Spec.FireUser, Labels: read.labels,
		Trigger: message.Annotations[v1beta1.AnnotationFiring] != "",
	}
	if len(message.Spec.Attachments) > 0 {
		return delivered, r.record(ctx, string(chat.GetUID()), fact, read.stored...)
	}
	return delivered, r.Runner.Engine.Deliver(string(chat.GetUID()), fact)
}

func (r *Reconciler) questionOf(ctx context.Context, chat client.Object, message *v1beta1.AgentMessage) (name, call string, err error) {
	if message.Spec.InReplyTo == "" {
		return "", "", nil
	}
	var question v1beta1.AgentMessage
	err = r.Client.Get(ctx, types.NamespacedName{Namespace: message.Namespace, Name: message.Spec.InReplyTo}, &question)
	if apierrors.IsNotFound(err) || (err == nil && (question.Spec.Role == v1beta1.RoleUser || !metav1.IsControlledBy(&question, chat))) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("get the message that %s/%s replies to: %w", message.Namespace, message.Name, err)
	}
	return question.Spec.Task, question.Annotations[v1beta1.AnnotationCall], nil
}

// forChat enqueues the messages of a chat that have not been handled.
func (r *Reconciler) forChat(ctx context.Context, chat client.Object) []reconcile.Request {
	return r.unhandled(ctx, chat.GetNamespace(), client.MatchingFields{cluster.ChatField: chat.GetName()})
}

// forTask enqueues the messages of a standalone task that have not been handled.
func (r *Reconciler) forTask(ctx context.Context, task client.Object) []reconcile.Request {
	return r.unhandled(ctx, task.GetNamespace(), client.MatchingFields{cluster.TaskField: task.GetName()})
}

// ChatStarted enqueues the messages that waited for a chat to be ready.
func (r *Reconciler) ChatStarted(ctx context.Context, chat types.NamespacedName) {
	for _, request := range r.unhandled(ctx, chat.Namespace, client.MatchingFields{cluster.ChatField: chat.Name}) {
		r.Changed.Add(request.NamespacedName)
	}
}

func (r *Reconciler) unhandled(ctx context.Context, namespace string, which client.MatchingFields) []reconcile.Request {
	return cluster.Requests(ctx, r.Client, &v1beta1.AgentMessageList{}, func(m *v1beta1.AgentMessage) bool {
		return m.Spec.Role == v1beta1.RoleUser && !cluster.HasFinalPhase(m)
	}, client.InNamespace(namespace), which)
}
