// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestCacheDropsManagedFields(t *testing.T) {
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: "a", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "somebody"}}}}
	object, err := Cache(cache.Options{}).DefaultTransform(task)
	if err != nil {
		t.Fatal(err)
	}
	if cached, ok := object.(*v1beta1.AgentTask); !ok || cached.ManagedFields != nil || cached.Name != "a" {
		t.Errorf("the cache keeps %+v", object)
	}
}
