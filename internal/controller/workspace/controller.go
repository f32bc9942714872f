// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

// Cache limits a manager's cache of pods to those of workspaces.
func Cache(options cache.Options) cache.Options {
	if options.ByObject == nil {
		options.ByObject = map[client.Object]cache.ByObject{}
	}
	options.ByObject[&corev1.Pod{}] = cache.ByObject{Label: labels.SelectorFromSet(pod.Labels())}
	return options
}

// Reconciler removes unused and broken pods of workspaces.
type Reconciler struct {
	Client     client.Client
	Workspaces *Workspaces
	// WhileActive wraps a reconciler so that it acts only while this operator is active: an unused pod may be used by
	// another operator.
	WhileActive func(reconcile.Reconciler) reconcile.Reconciler
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	workspacePods, err := predicate.LabelSelectorPredicate(metav1.LabelSelector{MatchLabels: pod.Labels()})
	if err != nil {
		return fmt.Errorf("select the pods of workspaces: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("workspace").
		For(&corev1.Pod{}, builder.WithPredicates(workspacePods)).
		Watches(&v1alpha1.AgentChat{}, r.closeDirectory()).
		Watches(&v1alpha1.AgentTask{}, r.closeDirectory()).
		Complete(r.WhileActive(r))
}

// closeDirectory stops serving a directory when its chat or task is deleted.
func (r *Reconciler) closeDirectory() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		r.Workspaces.directories.closeOwner(e.Object.GetUID())
	}}
}

// Reconcile removes a pod that is unused, that has ended, or whose node is lost, and wakes the calls that wait for
// it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var found corev1.Pod
	err := r.Client.Get(ctx, req.NamespacedName, &found)
	if apierrors.IsNotFound(err) {
		r.Workspaces.pods.endSession(req.NamespacedName)
		r.Workspaces.pods.uses.recordGone(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get pod %s: %w", req.NamespacedName, err)
	}
	r.Workspaces.pods.recordOutcome(&found)
	r.Workspaces.pods.uses.recordExists(req.NamespacedName)
	idle, err := r.idle(ctx, &found)
	if err != nil {
		return ctrl.Result{}, err
	}
	v := r.Workspaces.pods.decideAction(&found, idle)
	if v.remove {
		ctrl.LoggerFrom(ctx).Info("Removing a workspace pod", "pod", req.NamespacedName, "reason", v.reason)
		err = r.Workspaces.pods.remove(ctx, &found, v.force)
	}
	return ctrl.Result{RequeueAfter: v.checkAfter}, err
}

// decideAction decides what to do with a pod, and keeps new calls out of one that is removed because it is idle.
func (p *pods) decideAction(found *corev1.Pod, idle time.Duration) (v podAction) {
	p.uses.update(client.ObjectKeyFromObject(found), func(one *podUse) {
		v = decideAction(found, idle, one.calls, one.last, p.options.Now())
		if v.remove {
			one.removing = found.UID
		}
	})
	return v
}

// idle returns how long the pod of a chat or task may be unused. If the owner was deleted, the pod is deleted with
// it.
func (r *Reconciler) idle(ctx context.Context, found *corev1.Pod) (time.Duration, error) {
	owner := metav1.GetControllerOf(found)
	if owner == nil {
		return defaultIdle, nil
	}
	var object client.Object = &v1alpha1.AgentTask{}
	if owner.Kind == "AgentChat" {
		object = &v1alpha1.AgentChat{}
	}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: found.Namespace, Name: owner.Name}, object)
	if apierrors.IsNotFound(err) || (err == nil && object.GetUID() != owner.UID) {
		return defaultIdle, nil
	}
	if err != nil {
		return 0, fmt.Errorf("get the owner of pod %s/%s: %w", found.Namespace, found.Name, err)
	}
	location, err := r.Workspaces.Of(ctx, object)
	if err != nil || location == nil {
		return defaultIdle, err
	}
	return location.idle(), nil
}
