// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package agentrole writes the status of AgentRoles: whether they can be used, or what to create or fix. It also
// records their revisions, and promotes them.
package agentrole

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/role"
	"github.com/nestor-dev/nestor/internal/validation"
	"github.com/nestor-dev/nestor/internal/validation/catalog"
)

// AfterRevision is the point at which tests crash the process: a revision is kept, and the status of the role does not
// have it.
const AfterRevision engine.Point = "after-revision"

// Reconciler writes the status of AgentRoles.
type Reconciler struct {
	Client client.Client
	Status *status.Writer
	Finder resolve.Finder
	Gate   cluster.Gate
	// Changed queues the roles to check again.
	Changed *cluster.Queue
	// Reached is called at each point.
	Reached func(engine.Point)

	uses configMapUses
}

// SetupWithManager registers the controller. Roles depend on other roles, providers, tool servers, config maps and
// Secrets, so changes of these reconcile the roles that may depend on them.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	everyRole := handler.EnqueueRequestsFromMapFunc(r.allRoles)
	return ctrl.NewControllerManagedBy(mgr).
		Named("agentrole").
		For(&v1beta1.AgentRole{}).
		Watches(&v1beta1.AgentRole{}, everyRole).
		Watches(&v1beta1.ModelProvider{}, everyRole).
		Watches(&v1beta1.AgentEvaluation{}, handler.EnqueueRequestsFromMapFunc(r.rolesPromotedBy)).
		Watches(&v1beta1.ToolServer{}, everyRole).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.uses.roles), builder.OnlyMetadata).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.rolesUsingSecret), builder.OnlyMetadata).
		Owns(&appsv1.ControllerRevision{}, builder.OnlyMetadata).
		WatchesRawSource(r.Changed.Source()).
		Complete(r.Gate.Object(&v1beta1.AgentRole{}, r))
}

// +kubebuilder:rbac:groups=nestor.dev,resources=agentroles,verbs=get;list;watch
// +kubebuilder:rbac:groups=nestor.dev,resources=agentroles/status,verbs=get;update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// Reconcile checks one role, and records its current revision.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var object v1beta1.AgentRole
	if err := r.Client.Get(ctx, req.NamespacedName, &object); err != nil {
		if apierrors.IsNotFound(err) {
			r.uses.set(req.NamespacedName, nil)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	read, readErr := r.Finder.ReadRole(ctx, &object)
	r.uses.set(req.NamespacedName, read.ConfigMaps)
	condition, err := r.check(ctx, &object, read, readErr)
	if missing, ok := status.FromMissing(object.Generation, err); ok {
		condition, err = missing, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	p, err := r.revise(ctx, &object, read, readErr)
	if err != nil {
		return ctrl.Result{}, err
	}
	next := object.Status
	wrong := p.judge(&next)
	condition = p.ready(condition, next, wrong)
	return status.Result(r.Status.WriteCondition(ctx, &object, condition, func() {
		object.Status = next
		object.Status.Skills = skillsOf(read)
		object.Status.Conditions = p.withWaiting(object.Status, condition)
	}))
}

func skillsOf(read role.Role) []v1beta1.RoleSkill {
	var skills []v1beta1.RoleSkill
	for _, s := range read.SkillTexts {
		skills = append(skills, v1beta1.RoleSkill{Name: s.Name, Description: s.Description, ConfigMapName: s.ConfigMap})
	}
	return skills
}

// check returns the condition of a role that was read, or could not be read because of err. The error for a missing
// reference is a *resolve.Missing.
func (r *Reconciler) check(ctx context.Context, object *v1beta1.AgentRole, read role.Role, err error) (metav1.Condition, error) {
	generation := object.Generation
	if err != nil {
		return metav1.Condition{}, err
	}
	if read.ModelProvider != "" {
		if _, err := r.Finder.Provider(ctx, object.Namespace, read.ModelProvider); err != nil {
			return metav1.Condition{}, err
		}
	}
	if read.Remote != nil {
		if object.Spec.Temperature != "" { // no rule of the API can read the field
			return status.NotReady(generation, v1beta1.ReasonInvalidSpec, "A role with remote has no temperature: the remote agent has its own. Remove spec.temperature."), nil
		}
		if _, err := r.Finder.Headers(object.Namespace, read.Remote.A2A.HeadersFrom)(ctx); err != nil {
			return metav1.Condition{}, err
		}
	}
	if err := validation.CheckRole(object.Spec); err != nil {
		return status.NotReady(generation, v1beta1.ReasonInvalidSpec, err.Error()+". It must be a JSON schema of an object."), nil //nolint:nilerr // the condition has it
	}
	if problem := role.IsolationProblem(read); problem != "" {
		return status.NotReady(generation, v1beta1.ReasonInvalidSpec, problem), nil
	}
	notFound, err := r.missingRoles(ctx, object.Namespace, read.Delegates())
	if err != nil {
		return metav1.Condition{}, err
	}
	if len(notFound) > 0 {
		return status.NotReady(generation, v1beta1.ReasonRoleNotFound, fmt.Sprintf(
			"spec.delegation.roles names roles that do not exist and are not offered: %s. Create them or remove them from the list.", strings.Join(notFound, ", "))), nil
	}
	if condition, err := r.checkReview(ctx, object, read); err != nil || condition.Status != metav1.ConditionTrue {
		return condition, err
	}
	return r.ready(ctx, object)
}

// ready returns the condition of a role that can be used. Tools that do not exist do not prevent that: an agent has
// those that do.
func (r *Reconciler) ready(ctx context.Context, object *v1beta1.AgentRole) (metav1.Condition, error) {
	contents, err := catalog.Cluster{Finder: r.Finder}.Of(ctx, object.Namespace, object)
	if err != nil {
		return metav1.Condition{}, err
	}
	return status.Ready(object.Generation, strings.Join(append([]string{"The role can be used."}, validation.Warnings(object, contents)...), " ")), nil
}

// checkReview returns the condition of a role whose other parts can be used.
func (r *Reconciler) checkReview(ctx context.Context, object *v1beta1.AgentRole, read role.Role) (metav1.Condition, error) {
	if read.Review == nil {
		return status.Ready(object.Generation, "The role can be used."), nil
	}
	reviewer, err := r.Finder.Role(ctx, object.Namespace, read.Review.Role)
	if condition, missing := status.FromMissing(object.Generation, err); missing {
		condition.Message = fmt.Sprintf("The role %s of spec.review cannot be used: %s", read.Review.Role, condition.Message)
		return condition, nil
	}
	if err != nil {
		return metav1.Condition{}, err
	}
	if problem := role.CannotReview(reviewer); problem != "" {
		return status.NotReady(object.Generation, v1beta1.ReasonInvalidSpec, problem), nil
	}
	return status.Ready(object.Generation, "The role can be used."), nil
}

// missingRoles returns the roles that do not exist.
func (r *Reconciler) missingRoles(ctx context.Context, namespace string, names []string) ([]string, error) {
	var notFound []string
	for _, name := range names {
		_, err := r.Finder.Role(ctx, namespace, name)
		var missing *resolve.Missing
		switch {
		case err == nil:
		case errors.As(err, &missing) && missing.Reason == v1beta1.ReasonRoleNotFound:
			notFound = append(notFound, name)
		case errors.As(err, &missing): // it exists; its own status shows the missing reference
		default:
			return nil, err
		}
	}
	return notFound, nil
}

// allRoles returns all roles, because shared objects may affect roles of any namespace.
func (r *Reconciler) allRoles(ctx context.Context, changed client.Object) []reconcile.Request {
	return cluster.Requests(ctx, r.Client, &v1beta1.AgentRoleList{}, func(object *v1beta1.AgentRole) bool {
		return object.UID != changed.GetUID()
	}, client.InNamespace(r.Finder.ReferringNamespace(changed.GetNamespace())))
}

// rolesUsingSecret returns the remote roles with a header whose value is in a Secret.
func (r *Reconciler) rolesUsingSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	inHeader := func(h v1beta1.HeaderSource) bool { return h.SecretKeyRef.Name == secret.GetName() }
	return cluster.Requests(ctx, r.Client, &v1beta1.AgentRoleList{}, func(object *v1beta1.AgentRole) bool {
		return object.Spec.Remote != nil && slices.ContainsFunc(object.Spec.Remote.A2A.HeadersFrom, inHeader)
	}, client.InNamespace(secret.GetNamespace()))
}
