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
	"github.com/nestor-dev/nestor/internal/role"
)

// Roles are listed without their ConfigMap texts if the user may not get ConfigMaps.
func TestRolesWithoutConfigMapPermission(t *testing.T) {
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

// A built-in role is listed once, as built in, even in the namespace in which it is installed as an AgentRole.
func TestBuiltInRolesAreListedOnce(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, name := range role.Names() {
		installed := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: "nestor-system", Name: name, Labels: map[string]string{v1beta1.LabelBuiltIn: "true"}}}
		installed.Spec.AllowedNamespaces = &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesAll}
		builder.WithObjects(installed)
	}
	api := builder.Build()
	for _, namespace := range []string{"team", "nestor-system"} {
		entries, err := List(t.Context(), api, namespace, "nestor-system")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name)
			if e.Source != "built in" {
				t.Errorf("%s in %s comes from %q", e.Name, namespace, e.Source)
			}
		}
		if !slices.Equal(names, role.Names()) {
			t.Errorf("%s has the roles %q", namespace, names)
		}
	}
}
