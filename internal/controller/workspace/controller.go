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

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
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
	// Changed queues the pods to check again.
	Changed *cluster.Queue
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
		Watches(&v1beta1.AgentChat{}, r.ownerEvents()).
		Watches(&v1beta1.AgentTask{}, r.ownerEvents()).
		WatchesRawSource(r.Changed.Source()).
		Complete(r.WhileActive(r))
}

// ownerEvents stops serving a directory when its chat or task is deleted, and checks a pod when the phase of its owner
// changes.
func (r *Reconciler) ownerEvents() handler.EventHandler {
	return handler.Funcs{
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			r.Workspaces.directories.closeOwner(e.Object.GetUID())
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if before, spec := phaseOf(e.ObjectOld); spec != nil && spec.Directory == nil {
				if after, _ := phaseOf(e.ObjectNew); before != after {
					queue.Add(reconcile.Request{NamespacedName: podName(e.ObjectNew)})
				}
			}
		},
	}
}

func phaseOf(object client.Object) (phase string, spec *v1beta1.Workspace) {
	switch o := object.(type) {
	case *v1beta1.AgentChat:
		return string(o.Status.Phase), o.Spec.Workspace
	case *v1beta1.AgentTask:
		return string(o.Status.Phase), o.Spec.Workspace
	}
	return "", nil
}

func podName(owner client.Object) types.NamespacedName {
	spec := pod.Spec{Owner: pod.Owner{Name: owner.GetName(), UID: string(owner.GetUID())}}
	return types.NamespacedName{Namespace: owner.GetNamespace(), Name: spec.Name()}
}

// Reconcile removes a pod that is unused, that has ended, or whose node is lost, and wakes the calls that wait for
// it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var current corev1.Pod
	err := r.Client.Get(ctx, req.NamespacedName, &current)
	if apierrors.IsNotFound(err) {
		r.Workspaces.pods.endSession(req.NamespacedName)
		r.Workspaces.pods.uses.recordGone(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get pod %s: %w", req.NamespacedName, err)
	}
	r.Workspaces.pods.recordOutcome(&current)
	r.Workspaces.pods.uses.recordExists(req.NamespacedName)
	location, v, err := r.decide(ctx, r.Client, &current)
	if err == nil && v.remove {
		// The cached phase of its owner may be outdated: a pod may be unused for longer while work continues.
		location, v, err = r.decide(ctx, r.Workspaces.options.Live, &current)
		if err != nil || !v.remove {
			r.Workspaces.pods.cancelRemoval(&current)
		}
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if location != nil {
		ready, err := r.keep(ctx, *location, &current, v)
		if err != nil || !ready {
			return ctrl.Result{RequeueAfter: v.checkAfter}, err
		}
	}
	if v.remove {
		ctrl.LoggerFrom(ctx).Info("Removing a workspace pod", "pod", req.NamespacedName, "reason", v.reason)
		err = r.Workspaces.pods.remove(ctx, &current, v.force)
	}
	return ctrl.Result{RequeueAfter: v.checkAfter}, err
}

// decide reads the owner of a pod, and decides what to do with the pod.
func (r *Reconciler) decide(ctx context.Context, from client.Reader, current *corev1.Pod) (*Location, podAction, error) {
	location, err := r.locationOf(ctx, from, current)
	if err != nil {
		return nil, podAction{}, err
	}
	idle := idleOf(location)
	if isPublisher(current) {
		idle = publisherIdle
	}
	return location, r.Workspaces.pods.decideAction(current, idle), nil
}

// keep keeps the changes of a pod that is removed because it is idle, or whose owner pauses. It reports whether the pod
// may be removed.
func (r *Reconciler) keep(ctx context.Context, location Location, current *corev1.Pod, v podAction) (bool, error) {
	if current.DeletionTimestamp != nil || hasEnded(current) {
		return true, nil // it cannot be read any more
	}
	if v.remove {
		ready, err := r.Workspaces.pods.keepBefore(ctx, location, current)
		if !ready {
			r.Workspaces.pods.cancelRemoval(current)
		}
		return ready, err
	}
	if location.pauses() && !r.Workspaces.pods.inUse(current) {
		return true, r.Workspaces.pods.keep(ctx, location, current)
	}
	return true, nil
}

// decideAction decides what to do with a pod, and keeps new calls out of one that is removed because it is idle.
func (p *pods) decideAction(current *corev1.Pod, idle time.Duration) (v podAction) {
	p.uses.update(client.ObjectKeyFromObject(current), func(one *podUse) {
		v = decideAction(current, idle, one.calls, one.last, p.options.Now())
		if v.remove {
			one.removing = current.UID
		}
	})
	return v
}

// cancelRemoval lets calls use a pod that is not removed after all.
func (p *pods) cancelRemoval(current *corev1.Pod) {
	name := client.ObjectKeyFromObject(current)
	p.uses.update(name, func(one *podUse) { one.removing = "" })
	p.uses.notify(name)
}

func (p *pods) inUse(current *corev1.Pod) (used bool) {
	p.uses.update(client.ObjectKeyFromObject(current), func(one *podUse) { used = one.calls > 0 })
	return used
}

// idleOf returns how long the pod of a chat or task may be unused.
func idleOf(location *Location) time.Duration {
	switch {
	case location == nil:
		return defaultIdle
	case location.atWork():
		return location.retain()
	}
	return location.idle()
}

// locationOf returns the workspace that a pod serves, or nil if its owner was deleted, and the pod will be with it.
func (r *Reconciler) locationOf(ctx context.Context, from client.Reader, current *corev1.Pod) (*Location, error) {
	owner := metav1.GetControllerOf(current)
	if owner == nil {
		return nil, nil
	}
	object := cluster.NewObject(owner.Kind)
	if object == nil {
		return nil, nil
	}
	err := from.Get(ctx, types.NamespacedName{Namespace: current.Namespace, Name: owner.Name}, object)
	if apierrors.IsNotFound(err) || (err == nil && object.GetUID() != owner.UID) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get the owner of pod %s/%s: %w", current.Namespace, current.Name, err)
	}
	return r.Workspaces.Of(ctx, object)
}
