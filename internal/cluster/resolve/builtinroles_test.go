// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/config/operator"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/role"
)

// The AgentRoles that the chart installs change nothing: agents have the same role with and without them.
func TestInstalledRolesMatchBuiltIn(t *testing.T) {
	objects, err := operator.BuiltInRoles()
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != len(role.Names()) {
		t.Errorf("%d roles are installed, and %d are in the program", len(objects), len(role.Names()))
	}
	reader := fake.NewClientBuilder().WithScheme(kube.NewScheme())
	for _, object := range objects {
		var installed v1beta1.AgentRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &installed, true); err != nil {
			t.Fatal(err)
		}
		reader.WithObjects(&installed)
	}
	with := Finder{Reader: reader.Build(), OperatorNamespace: operator.Namespace}
	without := Finder{Reader: fake.NewClientBuilder().WithScheme(kube.NewScheme()).Build(), OperatorNamespace: operator.Namespace}
	for _, name := range role.Names() {
		for _, namespace := range []string{"team", operator.Namespace} {
			want, err := without.Role(t.Context(), namespace, name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := with.Role(t.Context(), namespace, name)
			if err != nil {
				t.Fatal(err)
			}
			got.AllowedNamespaces = nil // only the object has it
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s in %s (-embedded +installed):\n%s", name, namespace, diff)
			}
		}
	}
}
