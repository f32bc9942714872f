// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// NamespaceUID returns the UID of the namespace that an object was created in. The cache may still hold a deleted
// namespace of the same name, and records under the wrong UID would never be shown, so the namespace must be at least
// as old as the object.
func (f Finder) NamespaceUID(ctx context.Context, namespace string, created time.Time) (string, error) {
	var ns corev1.Namespace
	name := types.NamespacedName{Name: namespace}
	err := f.Reader.Get(ctx, name, &ns)
	if err == nil && ns.DeletionTimestamp.IsZero() && !ns.CreationTimestamp.After(created) {
		return string(ns.UID), nil
	}
	if err = f.Live.Get(ctx, name, &ns); err == nil {
		return string(ns.UID), nil
	}
	if apierrors.IsNotFound(err) {
		return "", nil // the namespace is deleted, and the object with it
	}
	return "", fmt.Errorf("get namespace %s: %w", namespace, err)
}

// KnownNamespaceUID returns the UID of a namespace in the cache, or "".
func (f Finder) KnownNamespaceUID(namespace string) string {
	var ns corev1.Namespace
	if err := f.Reader.Get(context.Background(), types.NamespacedName{Name: namespace}, &ns); err != nil {
		return ""
	}
	return string(ns.UID)
}
