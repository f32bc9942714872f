// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const DefaultOperatorNamespace = "nestor-system"

// FindOperator returns the namespace of the operator, which is the one with its heartbeat. If there is none, or none
// that the person may read, it returns DefaultOperatorNamespace.
//
// Anyone who can create Leases in a namespace can create one with this name. FindOperator therefore prefers the default
// namespace, and then the oldest heartbeat.
func FindOperator(ctx context.Context, api client.Reader) (string, error) {
	var beat coordinationv1.Lease
	err := api.Get(ctx, types.NamespacedName{Namespace: DefaultOperatorNamespace, Name: LeaseName}, &beat)
	switch {
	case err == nil:
		return DefaultOperatorNamespace, nil
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return "", fmt.Errorf("find the operator by its heartbeat: %w", err)
	}
	var beats coordinationv1.LeaseList
	// The role that lets everyone list the heartbeat applies to requests for that name only.
	if err := api.List(ctx, &beats, client.MatchingFields{"metadata.name": LeaseName}); err != nil {
		if apierrors.IsForbidden(err) {
			return DefaultOperatorNamespace, nil
		}
		return "", fmt.Errorf("find the operator by its heartbeat: %w", err)
	}
	var oldest *coordinationv1.Lease
	for i := range beats.Items {
		if b := &beats.Items[i]; oldest == nil || b.CreationTimestamp.Before(&oldest.CreationTimestamp) {
			oldest = b
		}
	}
	if oldest == nil {
		return DefaultOperatorNamespace, nil
	}
	return oldest.Namespace, nil
}
