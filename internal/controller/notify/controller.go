// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/push"
)

const (
	workers = 4
	// conflictDelay is the delay before a record is written again after a conflict.
	conflictDelay = 100 * time.Millisecond
)

// Reconciler delivers notifications.
type Reconciler struct {
	Client client.Client
	Gate   cluster.Gate
	// Changed queues the tasks whose deliveries have changed.
	Changed *cluster.Queue
	Sender  *Sender
	// Describe returns an identifier of the state of a task and the body of a notification about it; the identifier is empty if there is
	// nothing to notify. It reads only the status of the task.
	Describe func(*v1beta1.AgentTask) (state string, body []byte, err error)
	// OnAttempt is called after each attempt, for metrics, with the result: delivered, failed or refused.
	OnAttempt func(result string)

	outbox outbox
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.outbox.start = r.start
	registered := predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetAnnotations()[v1beta1.AnnotationPush] != "" })
	return ctrl.NewControllerManagedBy(mgr).
		Named("notify").
		For(&v1beta1.AgentTask{}, builder.WithPredicates(registered)).
		WatchesRawSource(r.Changed.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: cluster.Backoff()}).
		Complete(r.Gate.Agents(&v1beta1.AgentTask{}, r, r))
}

// EndEarlier implements cluster.Earlier. It is called for the tasks of other operators.
func (r *Reconciler) EndEarlier(_ context.Context, name types.NamespacedName, _ types.UID) error {
	r.outbox.forget(name)
	return nil
}

// Reconcile queues the notifications of a task that are missing, and records those that were delivered.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var task v1beta1.AgentTask
	if err := r.Client.Get(ctx, req.NamespacedName, &task); err != nil {
		r.outbox.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	configs := push.Read(&task)
	if len(configs) == 0 {
		r.outbox.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	state, body, err := r.Describe(&task)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("describe the task: %w", err)
	}
	due := r.outbox.update(&task, configs, notification{state, body}, time.Now())
	if due.record != nil {
		err := r.record(ctx, &task, due.record)
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: conflictDelay}, nil
		}
		if err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		r.outbox.recorded(req.NamespacedName, due.record)
	}
	return ctrl.Result{RequeueAfter: due.after}, nil
}

// record writes the outcomes of notifications to the annotation of a task.
func (r *Reconciler) record(ctx context.Context, task *v1beta1.AgentTask, records map[string]push.Record) error {
	if err := push.WriteRecords(task, records); err != nil {
		return err
	}
	return r.Client.Update(ctx, task)
}

// start delivers a notification, and wakes the task afterwards.
func (r *Reconciler) start(task types.NamespacedName, config push.Config, n notification, done func(outcome)) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
		defer cancel()
		ended := r.Sender.send(ctx, task, config, n.body)
		r.OnAttempt(ended.result())
		if ended.cause != "" {
			ctrl.Log.WithName("notify").Info("Notification was not delivered",
				"AgentTask", task, "config", config.ID, "cause", ended.cause)
		}
		done(ended)
		r.Changed.Add(task)
	}()
}
