// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// leaseName is the name of the lease for leader election.
const leaseName = "nestor-operator.nestor.dev"

// leaseOwner makes the operator's service account the owner of the lease, because the lease is in no chart and would be left behind by an
// uninstall. It runs when this operator becomes the leader. A failure is harmless.
type leaseOwner struct {
	client    client.Client
	live      client.Reader
	namespace string
}

func (l leaseOwner) Start(ctx context.Context) error {
	if err := l.own(ctx); err != nil && ctx.Err() == nil {
		ctrl.Log.WithName("lease").Error(err, "The lease will stay when the operator is uninstalled", "Lease", leaseName)
	}
	return nil
}

func (l leaseOwner) own(ctx context.Context) error {
	owner, err := l.serviceAccount(ctx)
	if err != nil || owner == nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var lease coordinationv1.Lease
		if err := l.live.Get(ctx, types.NamespacedName{Namespace: l.namespace, Name: leaseName}, &lease); err != nil {
			return fmt.Errorf("get the lease: %w", err)
		}
		lease.OwnerReferences = []metav1.OwnerReference{*owner}
		return l.client.Update(ctx, &lease)
	})
}

// find returns the owner of new leases, or nil.
func (l leaseOwner) find(ctx context.Context) *metav1.OwnerReference {
	owner, err := l.serviceAccount(ctx)
	if err != nil {
		ctrl.Log.WithName("lease").Error(err, "The leases will stay when the operator is uninstalled")
	}
	return owner
}

// serviceAccount returns a reference to the operator's service account, or nil if the operator does not run as a service account of its own
// namespace.
func (l leaseOwner) serviceAccount(ctx context.Context) (*metav1.OwnerReference, error) {
	var me authenticationv1.SelfSubjectReview
	if err := l.client.Create(ctx, &me); err != nil {
		return nil, fmt.Errorf("review the operator's own identity: %w", err)
	}
	user := me.Status.UserInfo
	name, ok := strings.CutPrefix(user.Username, "system:serviceaccount:"+l.namespace+":")
	if !ok || user.UID == "" {
		return nil, nil
	}
	return &metav1.OwnerReference{APIVersion: "v1", Kind: "ServiceAccount", Name: name, UID: types.UID(user.UID)}, nil
}
