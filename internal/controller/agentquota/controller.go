// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package agentquota writes the usage of AgentQuotas to their status, and notifies the engine of changed quotas. The
// engine enforces them.
package agentquota

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/engine"
)

// Reconciler writes the quotas of one namespace at a time, because they count the same calls.
type Reconciler struct {
	Client client.Client
	Engine *engine.Router
	Gate   cluster.Gate
	// Used receives namespaces in which model calls started, ended or wait.
	Used *cluster.Queue
	// Retry retries the runs of a namespace that have not started, in case they wait for a cost quota.
	Retry func(namespace string)

	// written holds the time of the last write for each namespace. One worker reconciles, so it needs no lock.
	written map[string]time.Time
}

// writeInterval is the minimum interval between two writes that only update usage.
const writeInterval = 3 * time.Second

// othersInterval is how often usage is read again that other operators may have changed.
const othersInterval = 10 * time.Second

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.written = map[string]time.Time{}
	return ctrl.NewControllerManagedBy(mgr).
		Named("agentquota").
		Watches(&v1beta1.AgentQuota{}, handler.EnqueueRequestsFromMapFunc(r.quotaChanged), builder.WithPredicates(cluster.Edited())).
		Watches(&v1beta1.ModelProvider{}, handler.EnqueueRequestsFromMapFunc(r.pricesChanged), builder.WithPredicates(cluster.Edited())).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(namespaceCreated), builder.WithPredicates(predicate.Funcs{
			UpdateFunc: func(event.UpdateEvent) bool { return false }, DeleteFunc: func(event.DeleteEvent) bool { return false },
		})).
		WatchesRawSource(r.Used.Source()).
		Complete(r)
}

// Namespace returns the name under which the quotas of a namespace are reconciled.
func Namespace(name string) types.NamespacedName { return types.NamespacedName{Namespace: name} }

// quotaChanged handles a quota that was created, deleted or changed: waiting calls may continue.
func (r *Reconciler) quotaChanged(_ context.Context, object client.Object) []reconcile.Request {
	r.Engine.QuotasChanged(object.GetNamespace())
	r.Retry(object.GetNamespace())
	return []reconcile.Request{{NamespacedName: Namespace(object.GetNamespace())}}
}

// namespaceCreated handles a created namespace: usage of an earlier namespace of the same name does not count for it.
func namespaceCreated(_ context.Context, object client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: Namespace(object.GetName())}}
}

// pricesChanged handles a changed provider: its models may have prices now.
func (r *Reconciler) pricesChanged(context.Context, client.Object) []reconcile.Request {
	r.Engine.QuotasChanged("")
	return nil
}

// +kubebuilder:rbac:groups=nestor.dev,resources=agentquotas,verbs=get;list;watch
// +kubebuilder:rbac:groups=nestor.dev,resources=agentquotas/status,verbs=get;update

// Reconcile writes the quotas of a namespace, and requeues when the first of them resets.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	leave, ok := r.Gate.Namespace(req.Namespace)
	if !ok {
		return ctrl.Result{}, nil
	}
	defer leave()
	var list v1beta1.AgentQuotaList
	if err := r.Client.List(ctx, &list, client.InNamespace(req.Namespace)); err != nil {
		return ctrl.Result{}, fmt.Errorf("list the AgentQuotas of namespace %s: %w", req.Namespace, err)
	}
	now := time.Now()
	if len(list.Items) == 0 {
		delete(r.written, req.Namespace)
		return ctrl.Result{}, nil
	}
	if wait := r.written[req.Namespace].Add(writeInterval).Sub(now); wait > 0 && allObserved(list.Items) {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	usage, err := r.Engine.QuotaUsage(ctx, req.Namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	again := time.Hour
	if r.Engine.Shards() > 1 {
		again = othersInterval
		if err := r.countAll(ctx, req.Namespace, usage); err != nil {
			return ctrl.Result{}, err
		}
	}
	for i := range list.Items {
		object := &list.Items[i]
		next, ok := statusOf(object, usage, now)
		if !ok {
			continue // it was created after the usage was read; its own event will follow
		}
		again = min(again, next.ResetTime.Sub(now)+time.Second)
		if equality.Semantic.DeepEqual(object.Status, next) {
			continue
		}
		object.Status = next
		if err := status.Update(ctx, r.Client, object); err != nil {
			return status.Result(err)
		}
		r.written[req.Namespace] = now
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// allObserved reports whether the status of every quota is about its current spec.
func allObserved(quotas []v1beta1.AgentQuota) bool {
	return !slices.ContainsFunc(quotas, func(q v1beta1.AgentQuota) bool { return q.Status.ObservedGeneration != q.Generation })
}
