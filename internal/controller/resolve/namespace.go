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

// NamespaceUID is the UID of the namespace that an object was created in. A cache that still knows an earlier namespace of the name is
// not trusted: what is recorded under the wrong UID is never shown.
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
		return "", nil // it is going, and the object with it
	}
	return "", fmt.Errorf("get namespace %s: %w", namespace, err)
}

// KnownNamespaceUID is the UID of a namespace as the cache has it, or empty.
func (f Finder) KnownNamespaceUID(namespace string) string {
	var ns corev1.Namespace
	if err := f.Reader.Get(context.Background(), types.NamespacedName{Name: namespace}, &ns); err != nil {
		return ""
	}
	return string(ns.UID)
}
