// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/push"
)

const (
	workers = 4
	// conflictDelay is the delay before a record is written again after a conflict.
	conflictDelay = 100 * time.Millisecond
	kindChat      = "AgentChat"
	kindTask      = "AgentTask"
	// reasonFailed is the reason of Events about notifications that were given up.
	reasonFailed = "NotificationFailed"
)

// Reconciler delivers notifications.
type Reconciler struct {
	Client client.Client
	Gate   cluster.Gate
	// Events receives an Event for each notification that was given up; optional.
	Events events.EventRecorder
	// Tasks and Chats queue the objects whose deliveries have changed.
	Tasks, Chats *cluster.Queue
	Sender       *Sender
	// Describe returns an identifier of the state of a task and the body of a notification of A2A about it; the
	// identifier is empty if there is nothing to notify. It reads only the status of the task. It is nil without a
	// gateway.
	Describe func(*v1beta1.AgentTask) (state string, body []byte, err error)
	// OnAttempt is called after each attempt, for metrics, with the result: delivered, failed or refused.
	OnAttempt func(result string)
	// OnSettled is called for a task that has ended when its receivers were notified; optional.
	OnSettled func(*v1beta1.AgentTask)

	outbox outbox
}

// SetupWithManager registers the controllers of tasks and chats.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.outbox.start = r.start
	options := controller.Options{MaxConcurrentReconciles: workers, RateLimiter: cluster.Backoff()}
	withReceivers := builder.WithPredicates(predicate.NewPredicateFuncs(Wanted))
	tasks := kindReconciler{r, kindTask, func() client.Object { return &v1beta1.AgentTask{} }}
	if err := ctrl.NewControllerManagedBy(mgr).Named("notify").
		For(&v1beta1.AgentTask{}, withReceivers).
		WatchesRawSource(r.Tasks.Source()).
		WithOptions(options).
		Complete(r.Gate.Agents(&v1beta1.AgentTask{}, tasks, tasks)); err != nil {
		return err
	}
	chats := kindReconciler{r, kindChat, func() client.Object { return &v1beta1.AgentChat{} }}
	return ctrl.NewControllerManagedBy(mgr).Named("notify-chats").
		For(&v1beta1.AgentChat{}, withReceivers).
		Watches(&v1beta1.AgentMessage{}, r.Chats.DelayedHandler(cluster.ChatKey), builder.WithPredicates(predicate.NewPredicateFuncs(isNotice))).
		WatchesRawSource(r.Chats.Source()).
		WithOptions(options).
		Complete(r.Gate.Agents(&v1beta1.AgentChat{}, chats, chats))
}

// Wanted reports whether an object has receivers of notifications, or a record of them.
func Wanted(object client.Object) bool {
	switch o := object.(type) {
	case *v1beta1.AgentTask:
		return len(o.Spec.Notify) > 0 || o.Annotations[v1beta1.AnnotationPush] != ""
	case *v1beta1.AgentChat:
		return len(o.Spec.Notify) > 0 || o.Annotations[v1beta1.AnnotationNotified] != ""
	}
	return false
}

// Wake queues an object whose shard was taken over.
func (r *Reconciler) Wake(object client.Object) {
	if !Wanted(object) {
		return
	}
	kind := kindTask
	if _, ok := object.(*v1beta1.AgentChat); ok {
		kind = kindChat
	}
	r.queue(kind).Add(client.ObjectKeyFromObject(object))
}

func isNotice(object client.Object) bool {
	return object.GetAnnotations()[v1beta1.AnnotationNotice] != ""
}

// kindReconciler reconciles the objects of one kind.
type kindReconciler struct {
	*Reconciler
	kind   string
	object func() client.Object
}

// EndEarlier implements cluster.Earlier. It is called for the objects of other operators.
func (k kindReconciler) EndEarlier(_ context.Context, name types.NamespacedName, _ types.UID) error {
	k.outbox.forget(objectKey{k.kind, name})
	return nil
}

var _ reconcile.Reconciler = kindReconciler{}

// +kubebuilder:rbac:groups=nestor.dev,resources=agentchats;agenttasks,verbs=update

// Reconcile queues the notifications of an object that are missing, and records those that were delivered.
func (k kindReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	object, name := k.object(), objectKey{k.kind, req.NamespacedName}
	if err := k.Client.Get(ctx, req.NamespacedName, object); err != nil {
		k.outbox.forget(name)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !Wanted(object) {
		k.outbox.forget(name)
		return ctrl.Result{}, nil
	}
	targets, err := k.targets(ctx, object)
	if err != nil {
		return ctrl.Result{}, err
	}
	due := k.outbox.update(name, object, targets, time.Now())
	if due.record == nil {
		return ctrl.Result{RequeueAfter: due.after}, nil
	}
	before := push.Records(object)
	err = k.record(ctx, object, due.record)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: conflictDelay}, nil
	}
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	k.outbox.recorded(name, due.record)
	k.report(object, before, due.record)
	k.queue(k.kind).Add(req.NamespacedName) // what was stored can be sent
	return ctrl.Result{}, nil
}

// record writes the outcomes of notifications to the annotation of an object.
func (r *Reconciler) record(ctx context.Context, object client.Object, records map[string]push.Record) error {
	if err := push.WriteRecords(object, records); err != nil {
		return err
	}
	return r.Client.Update(ctx, object)
}

// report emits Events for the notifications to receivers in the spec that were given up, and calls OnSettled when a task
// that has ended has no more of them.
func (r *Reconciler) report(object client.Object, before, after map[string]push.Record) {
	for id, record := range after {
		if record.Error != "" && record.Sequence > before[id].Sequence && r.Events != nil {
			r.Events.Eventf(object, nil, corev1.EventTypeWarning, reasonFailed, "Notify", "Notification %d was not delivered to the receiver in Secret %s: %s", record.Sequence, id, record.Error)
		}
	}
	if task, ok := object.(*v1beta1.AgentTask); ok && r.OnSettled != nil && task.Status.CompletionTime != nil && Settled(task) {
		r.OnSettled(task)
	}
}

func (r *Reconciler) queue(kind string) *cluster.Queue {
	if kind == kindChat {
		return r.Chats
	}
	return r.Tasks
}

// targets returns the receivers of the notifications about an object.
func (k kindReconciler) targets(ctx context.Context, object client.Object) ([]target, error) {
	if chat, ok := object.(*v1beta1.AgentChat); ok {
		return k.chatTargets(ctx, chat)
	}
	task, ok := object.(*v1beta1.AgentTask)
	if !ok {
		return nil, nil
	}
	targets, err := k.pushTargets(task)
	if err != nil {
		return nil, err
	}
	notice := taskNotice(task)
	for _, to := range task.Spec.Notify {
		targets = append(targets, k.target(task, to, "", func(newest string) []notification {
			if notice == nil || notice.ID == newest || !slices.Contains(to.On, notice.State) {
				return nil
			}
			return []notification{{state: notice.ID, notice: notice}}
		}))
	}
	return targets, nil
}

// pushTargets returns the receivers that clients of A2A have registered.
func (r *Reconciler) pushTargets(task *v1beta1.AgentTask) ([]target, error) {
	configs := push.Read(task)
	if len(configs) == 0 || r.Describe == nil {
		return nil, nil
	}
	state, body, err := r.Describe(task)
	if err != nil {
		return nil, fmt.Errorf("describe the task: %w", err)
	}
	name := client.ObjectKeyFromObject(task)
	var targets []target
	for _, config := range configs {
		targets = append(targets, target{id: config.ID,
			since: func(newest string) []notification {
				if state == "" || state == newest {
					return nil
				}
				return []notification{{state: state, body: body}}
			},
			send: func(ctx context.Context, n notification) outcome { return r.Sender.send(ctx, name, config, n.body) },
		})
	}
	return targets, nil
}

func (k kindReconciler) chatTargets(ctx context.Context, chat *v1beta1.AgentChat) ([]target, error) {
	var messages v1beta1.AgentMessageList
	if err := k.Client.List(ctx, &messages, client.InNamespace(chat.Namespace), client.MatchingFields{cluster.ChatField: chat.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the messages of chat %s/%s: %w", chat.Namespace, chat.Name, err)
	}
	posts := chatPosts(chat, messages.Items)
	var targets []target
	for _, to := range chat.Spec.Notify {
		targets = append(targets, k.target(chat, to, firstPost(chat, posts), func(newest string) []notification { return postsAfter(posts, newest, to.On) }))
	}
	return targets, nil
}

func (k kindReconciler) target(object client.Object, to v1beta1.NotifyReceiver, begin string, since func(string) []notification) target {
	a := aboutObject(objectKey{k.kind, client.ObjectKeyFromObject(object)}, object)
	return target{id: receiverID(to), begin: begin, since: since, send: func(ctx context.Context, n notification) outcome {
		return k.Sender.deliver(ctx, a, to, *n.notice)
	}}
}

// start delivers a notification, and wakes the object afterwards.
func (r *Reconciler) start(object objectKey, to target, n notification, done func(outcome)) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
		defer cancel()
		ended := to.send(ctx, n)
		r.OnAttempt(ended.result())
		if ended.cause != "" {
			ctrl.Log.WithName("notify").Info("Notification was not delivered",
				object.kind, object.NamespacedName, "receiver", to.id, "cause", ended.cause)
		}
		done(ended)
		r.queue(object.kind).Add(object.NamespacedName)
	}()
}
