// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package roles

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Roles are listed without their ConfigMap texts if the user may not get ConfigMaps.
func TestRolesWithoutTheRightToReadConfigMaps(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	writer := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "writer"}}
	writer.Spec.Description, writer.Spec.SystemPrompt = "Writes.", `You write. {{ include "prompts/style" }}`
	writer.Status.Skills = []v1beta1.RoleSkill{{Name: "letters", Description: "Writes letters.", ConfigMapName: "letters"}}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(writer, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, ok := object.(*corev1.ConfigMap); ok {
				return apierrors.NewForbidden(corev1.Resource("configmaps"), key.Name, nil)
			}
			return api.Get(ctx, key, object, options...)
		},
	}).Build()
	entries, err := List(t.Context(), api, "team", "nestor-system")
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == "writer" }); i < 0 || entries[i].Description != "Writes." || entries[i].Problem != "" || len(entries[i].SkillTexts) != 1 {
		t.Errorf("the roles are %+v", entries)
	}
	if found, err := Get(t.Context(), api, "team", "nestor-system", "writer"); err != nil || found.SystemPrompt != writer.Spec.SystemPrompt {
		t.Errorf("the role is %+v: %v", found, err)
	}
}
