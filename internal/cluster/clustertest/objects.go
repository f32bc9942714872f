// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package clustertest makes objects of a tree, and a cluster that has them, for tests.
package clustertest

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/cluster"
)

// Named returns the metadata of an object in the namespace "a".
func Named(name, uid string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(uid)}
}

// OwnedBy adds a controller reference to an object.
func OwnedBy[T client.Object](owner client.Object, kind string, object T) T {
	object.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: v1beta1.GroupVersion.String(), Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true),
	}})
	return object
}

// NewCluster returns a client of a cluster with the given objects.
func NewCluster(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	builder := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(objects...)
	for _, index := range cluster.Indexes() {
		builder = builder.WithIndex(index.Object, index.Field, index.Values)
	}
	return builder.Build()
}
