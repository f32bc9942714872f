// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package agenttrigger records the firings of AgentTriggers and creates their tasks and messages, each exactly once.
package agenttrigger

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/trigger"
	"github.com/nestor-dev/nestor/internal/trigger/cron"
)

const (
	// workers is the number of triggers that are reconciled in parallel.
	workers = 4
	// waitDelay is the delay before a firing is tried again for which the record has no space.
	waitDelay = time.Second
	// minWatchRetryDelay and maxWatchRetryDelay bound the delay before the operator checks again whether it may watch a
	// kind.
	minWatchRetryDelay = time.Second
	maxWatchRetryDelay = 30 * time.Second
)

// Reconciler acts on the recorded firings of triggers, and fires their schedules.
type Reconciler struct {
	Client   client.Client
	Recorder *Recorder
	Finder   resolve.Finder
	Gate     cluster.Gate
	// Changed queues the triggers that are to be reconciled.
	Changed *cluster.Queue
	Watches *Watches
	// Settled reports whether the receivers of a task that has ended were notified. Its trigger is reconciled again
	// when they were.
	Settled func(*v1beta1.AgentTask) bool
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("agenttrigger").
		For(&v1beta1.AgentTrigger{}, builder.WithPredicates(predicate.Or(cluster.Edited(), fired()))).
		Watches(&v1beta1.AgentTask{}, handler.EnqueueRequestsFromMapFunc(triggerOf), builder.WithPredicates(targetChanged())).
		Watches(&v1beta1.AgentMessage{}, handler.EnqueueRequestsFromMapFunc(triggerOf), builder.WithPredicates(targetChanged())).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.triggersUsingSecret), builder.OnlyMetadata).
		WatchesRawSource(r.Changed.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: cluster.Backoff()}).
		Complete(r.Gate.Object(&v1beta1.AgentTrigger{}, r))
}

// triggerOf returns a request for the trigger that created a task or message.
func triggerOf(_ context.Context, object client.Object) []reconcile.Request {
	name := object.GetLabels()[v1beta1.LabelTrigger]
	if name == "" || cluster.TriggerUID(object) == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
}

// fired selects triggers with new firings: recorded by another operator, or requested by a person.
func fired() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*v1beta1.AgentTrigger)
			after, alsoOK := e.ObjectNew.(*v1beta1.AgentTrigger)
			return ok && alsoOK && (after.Status.Firings != before.Status.Firings ||
				after.Annotations[v1beta1.AnnotationFire] != before.Annotations[v1beta1.AnnotationFire])
		},
	}
}

// targetChanged selects tasks and messages of triggers that are held, have ended, or are deleted.
func targetChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return cluster.IsHeld(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return ended(e.ObjectNew) && !ended(e.ObjectOld) || e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
				cluster.IsHeld(e.ObjectNew) && !e.ObjectNew.GetDeletionTimestamp().IsZero()
		},
	}
}

// ended reports whether a task has ended, or a message was handled.
func ended(object client.Object) bool {
	switch o := object.(type) {
	case *v1beta1.AgentTask:
		return o.Status.CompletionTime != nil
	case *v1beta1.AgentMessage:
		return cluster.HasFinalPhase(o)
	}
	return false
}

// +kubebuilder:rbac:groups=nestor.dev,resources=agenttriggers,verbs=get;list;watch;update
// +kubebuilder:rbac:groups=nestor.dev,resources=agenttriggers/status,verbs=get;update
// +kubebuilder:rbac:groups=nestor.dev,resources=agenttriggers/finalizers,verbs=update
// +kubebuilder:rbac:groups=nestor.dev,resources=agentmessages,verbs=delete

// Reconcile acts on the recorded firings of a trigger, records those that are due, and writes its status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if err := r.discard(ctx, req.NamespacedName); err != nil {
		return status.Result(err)
	}
	var t v1beta1.AgentTrigger
	err := r.Client.Get(ctx, req.NamespacedName, &t)
	if apierrors.IsNotFound(err) {
		r.Recorder.Evaluations.forget(req.NamespacedName)
		r.Watches.remove(req.NamespacedName)
	}
	if err != nil || !t.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.Recorder.Evaluations.compiled(&t) {
		return ctrl.Result{}, nil
	}
	result, err := r.reconcile(ctx, &t)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, nil // it was deleted meanwhile
	}
	if err != nil {
		return status.Result(err)
	}
	return result, nil
}

func (r *Reconciler) reconcile(ctx context.Context, t *v1beta1.AgentTrigger) (ctrl.Result, error) {
	if err := r.act(ctx, t); err != nil {
		return ctrl.Result{}, err
	}
	waits, err := r.fire(ctx, t)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := r.Recorder.now()
	next, err := r.Recorder.refresh(ctx, t, now)
	if err != nil {
		return ctrl.Result{}, err
	}
	clearRefusal(&next, t.Generation)
	next = r.Recorder.complete(t, next, now)
	if err := r.checkSecret(ctx, t, &next); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.Recorder.write(ctx, t, next); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.report(ctx, t); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.tidy(ctx, t); err != nil {
		return ctrl.Result{}, err
	}
	problem := watchProblem(t)
	switch {
	case problem != nil:
		return ctrl.Result{RequeueAfter: watchRetryDelay(problem, now)}, nil
	case waits:
		return ctrl.Result{RequeueAfter: waitDelay}, nil
	case t.Status.NextScheduleTime != nil:
		return ctrl.Result{RequeueAfter: max(t.Status.NextScheduleTime.Sub(now), time.Millisecond)}, nil
	}
	return ctrl.Result{}, nil
}

// fire records the firings that are due, and acts on them. It reports whether one of them must wait.
func (r *Reconciler) fire(ctx context.Context, t *v1beta1.AgentTrigger) (waits bool, err error) {
	program, err := r.Recorder.Evaluations.programs.Now(t)
	if err != nil {
		return false, r.refuseInvalid(ctx, t, err)
	}
	before := t.Status.Firings
	if t.Spec.Watch == nil || t.Spec.Suspend {
		r.Watches.remove(client.ObjectKeyFromObject(t))
	}
	if waits, err = r.fireByHand(ctx, t); err != nil {
		return false, err
	}
	if program.Schedule != nil && !t.Spec.Suspend {
		later, err := r.fireSchedule(ctx, t, program.Schedule)
		if err != nil {
			return false, err
		}
		waits = waits || later
	}
	if t.Spec.Watch != nil && !t.Spec.Suspend {
		later, err := r.fireWatch(ctx, t, program)
		if err != nil {
			return false, err
		}
		waits = waits || later
	}
	if t.Status.Firings == before {
		return waits, nil
	}
	return waits, r.act(ctx, t)
}

// fireSchedule records the time of a schedule that is due. It reports whether it must wait.
func (r *Reconciler) fireSchedule(ctx context.Context, t *v1beta1.AgentTrigger, schedule *cron.Schedule) (waits bool, err error) {
	now := r.Recorder.now()
	observed := trigger.Observe(t.Spec, t.Status, t.CreationTimestamp.Time, now)
	firing, due := trigger.Due(schedule, observed, now)
	if !due {
		return false, nil
	}
	if late := trigger.PastDeadline(t.Spec, firing, now); late != "" {
		next, _ := trigger.Drop(t.Spec, observed, now, firing, v1beta1.DropMissed, late)
		if err := r.Recorder.write(ctx, t, r.Recorder.complete(t, next, now)); err != nil {
			return false, err
		}
		r.Recorder.warn(t, string(v1beta1.DropMissed), late)
		return false, nil
	}
	decision, err := r.Recorder.record(ctx, t, firing, r.Recorder.evaluateLater)
	return decision.Outcome == trigger.Wait, err
}

// fireWatch records the firings for objects for which the condition has become true. It reports whether one of them
// must wait.
func (r *Reconciler) fireWatch(ctx context.Context, t *v1beta1.AgentTrigger, program *trigger.Program) (waits bool, err error) {
	// The Events of a trigger are about this generation: the watcher of another one has its own.
	about := t.DeepCopy()
	w, err := r.Watches.of(ctx, t, program, func(err error) { r.Recorder.warn(about, string(v1beta1.DropExpressionFailed), err.Error()) })
	var cannot *problem
	if errors.As(err, &cannot) {
		return false, r.writeCondition(ctx, t, status.NotReady(t.Generation, cannot.reason, cannot.message))
	}
	if err != nil {
		return false, err
	}
	for {
		f, ok := w.next()
		if !ok {
			break
		}
		decision, err := r.Recorder.record(ctx, t, f, r.Recorder.evaluateLater)
		if err != nil || decision.Outcome == trigger.Wait {
			return true, err
		}
		w.done(f)
	}
	if !w.registration.HasSynced() {
		return false, nil
	}
	if unlatched := w.released(t.Status.Latched); len(unlatched) > 0 {
		if err := r.Recorder.write(ctx, t, trigger.Unlatch(t.Status, unlatched)); err != nil {
			return false, err
		}
		w.unlatched(unlatched)
	}
	return false, r.clearWatchProblem(ctx, t)
}

func (r *Reconciler) clearWatchProblem(ctx context.Context, t *v1beta1.AgentTrigger) error {
	if watchProblem(t) == nil {
		return nil
	}
	return r.writeCondition(ctx, t, readiness(t, nil))
}

// watchProblem returns the Ready condition of a trigger that may not watch its kind, or whose kind does not exist, or
// nil.
func watchProblem(t *v1beta1.AgentTrigger) *metav1.Condition {
	c := meta.FindStatusCondition(t.Status.Conditions, v1beta1.ConditionReady)
	if t.Spec.Watch == nil || t.Spec.Suspend || c == nil || c.Reason != v1beta1.ReasonKindNotFound && c.Reason != v1beta1.ReasonWatchNotAllowed {
		return nil
	}
	return c
}

// watchRetryDelay returns how long the problem has lasted, within bounds: a permission is often granted soon after it was
// found missing.
func watchRetryDelay(problem *metav1.Condition, now time.Time) time.Duration {
	return min(max(now.Sub(problem.LastTransitionTime.Time), minWatchRetryDelay), maxWatchRetryDelay)
}
