// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package kubewatch

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/test/patience"
)

// An object that is deleted after its caller has read it, and before the first list, has no events.
func TestObjectDeletedBeforeFirstList(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience.Limit())
	defer cancel()
	object := &corev1.ConfigMap{}
	object.Namespace, object.Name = "team", "gone"
	_, err := Until(ctx, fake.NewFakeClient(), object, &corev1.ConfigMapList{}, func(*corev1.ConfigMap) bool { return true })
	if !errors.Is(err, ErrDeleted) {
		t.Errorf("got %v", err)
	}
}

func TestObjectThatExists(t *testing.T) {
	object := &corev1.ConfigMap{}
	object.Namespace, object.Name = "team", "here"
	got, err := Until(t.Context(), fake.NewFakeClient(object), object, &corev1.ConfigMapList{}, func(*corev1.ConfigMap) bool { return true })
	if err != nil || got.Name != "here" {
		t.Errorf("got %v, %v", got, err)
	}
}
