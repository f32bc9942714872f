// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package toolpolicy has the ToolPolicies that judge the calls of agents, and writes their status.
package toolpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/validation"
	"github.com/nestor-dev/nestor/internal/validation/catalog"
)

// Reconciler writes the status of ToolPolicies.
type Reconciler struct {
	Client client.Client
	Status *status.Writer
	Finder resolve.Finder
	Gate   cluster.Gate
	// Store compiles the policies.
	Store *Store
	// Changed queues the policies to check again.
	Changed *cluster.Queue
}

// SetupWithManager registers the controller. What a policy matches depends on roles and tool servers.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	every := handler.EnqueueRequestsFromMapFunc(r.policiesNaming)
	return ctrl.NewControllerManagedBy(mgr).
		Named("toolpolicy").
		For(&v1beta1.ToolPolicy{}).
		Watches(&v1beta1.AgentRole{}, every, builder.WithPredicates(cluster.Edited())).
		Watches(&v1beta1.ToolServer{}, every, builder.WithPredicates(predicate.Or(cluster.Edited(), toolsChanged()))).
		WatchesRawSource(r.Changed.Source()).
		Complete(r.Gate.Object(&v1beta1.ToolPolicy{}, r))
}

// toolsChanged selects ToolServers whose status lists other tools.
func toolsChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1beta1.ToolServer)
		after, alsoOK := e.ObjectNew.(*v1beta1.ToolServer)
		sameName := func(a, b v1beta1.ToolInfo) bool { return a.Name == b.Name }
		return ok && alsoOK && (before.Status.ToolCount != after.Status.ToolCount || !slices.EqualFunc(before.Status.Tools, after.Status.Tools, sameName))
	}}
}

// +kubebuilder:rbac:groups=nestor.dev,resources=toolpolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=nestor.dev,resources=toolpolicies/status,verbs=get;update

// Reconcile checks one policy.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var object v1beta1.ToolPolicy
	if err := r.Client.Get(ctx, req.NamespacedName, &object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	problem, known := r.Store.Problem(&object)
	if !known {
		return ctrl.Result{}, nil // the store wakes the policy
	}
	condition, err := r.check(ctx, &object, problem)
	if err != nil {
		return ctrl.Result{}, err
	}
	return status.Result(r.Status.WriteCondition(ctx, &object, condition, nil))
}

func (r *Reconciler) check(ctx context.Context, object *v1beta1.ToolPolicy, problem error) (metav1.Condition, error) {
	var excess tooMany
	switch {
	case errors.As(problem, &excess):
		message := fmt.Sprintf("The policy is not evaluated: %s. The calls that it matches wait until others are deleted.", problem)
		return status.NotReady(object.Generation, v1beta1.ReasonTooManyPolicies, message), nil
	case problem != nil:
		message := problem.Error() + ". The calls that the policy matches wait until it is corrected or deleted."
		return status.NotReady(object.Generation, v1beta1.ReasonInvalidExpression, message), nil //nolint:nilerr // the problem is in the condition
	}
	contents, err := catalog.Cluster{Finder: r.Finder}.Of(ctx, object.Namespace, object)
	if err != nil {
		return metav1.Condition{}, err
	}
	text := []string{"The policy judges the calls that it matches."}
	if object.Spec.Mode == v1beta1.PolicyAudit {
		text[0] = "The policy records verdicts that have no effect."
	}
	elsewhere := object.Spec.Namespaces != nil && object.Spec.Namespaces.From != v1beta1.NamespacesSame
	if elsewhere && object.Namespace != r.Finder.OperatorNamespace {
		text = append(text, "spec.namespaces has no effect: only policies in the namespace "+r.Finder.OperatorNamespace+" apply to others.")
	}
	missing := validation.Warnings(object, contents)
	condition := status.Ready(object.Generation, strings.Join(append(text, missing...), " "))
	if len(missing) > 0 {
		condition.Reason = v1beta1.ReasonNamesNotFound
	}
	return condition, nil
}

// policiesNaming returns the policies that may match tools of a server or calls of a role.
func (r *Reconciler) policiesNaming(ctx context.Context, changed client.Object) []reconcile.Request {
	names := func(object *v1beta1.ToolPolicy) bool { return object.Spec.Match != nil }
	return cluster.Requests(ctx, r.Client, &v1beta1.ToolPolicyList{}, names,
		client.InNamespace(r.Finder.ReferringNamespace(changed.GetNamespace())))
}
