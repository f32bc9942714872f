// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentrole

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/role"
)

// +kubebuilder:rbac:groups=nestor.dev,resources=agentevaluations,verbs=get;list;watch

// evaluationOf returns the evaluation that promotes the revisions of a gated role. It is nil if it does not exist, or
// is that of another role.
func (r *Reconciler) evaluationOf(ctx context.Context, object *v1beta1.AgentRole) (string, *v1beta1.AgentEvaluation, error) {
	if !role.Gated(object) || object.Spec.Promotion.Evaluation == "" {
		return "", nil, nil
	}
	name := types.NamespacedName{Namespace: object.Namespace, Name: object.Spec.Promotion.Evaluation}
	var e v1beta1.AgentEvaluation
	err := r.Client.Get(ctx, name, &e)
	if apierrors.IsNotFound(err) || err == nil && e.Spec.Role != object.Name {
		return name.Name, nil, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("get the evaluation %s: %w", name, err)
	}
	return name.Name, &e, nil
}

// rolesPromotedBy returns the roles that an evaluation promotes, or promoted before its role changed.
func (r *Reconciler) rolesPromotedBy(ctx context.Context, evaluation client.Object) []reconcile.Request {
	return cluster.Requests(ctx, r.Client, &v1beta1.AgentRoleList{}, func(object *v1beta1.AgentRole) bool {
		return object.Spec.Promotion != nil && object.Spec.Promotion.Evaluation == evaluation.GetName()
	}, client.InNamespace(evaluation.GetNamespace()))
}
