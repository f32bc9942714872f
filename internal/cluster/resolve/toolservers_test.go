// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
)

func TestNamespaceUsesOwnAndSharedServers(t *testing.T) {
	server := func(namespace, name string, from v1beta1.NamespaceSource) *v1beta1.ToolServer {
		object := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if from != "" {
			object.Spec.AllowedNamespaces = &v1beta1.AllowedNamespaces{From: from}
		}
		return object
	}
	reader := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(
		server("team", "own", ""), server("team", "both", ""), server("other", "foreign", v1beta1.NamespacesAll),
		server("nestor-system", "both", v1beta1.NamespacesAll), server("nestor-system", "shared", v1beta1.NamespacesAll),
		server("nestor-system", "private", ""), server("nestor-system", "same", v1beta1.NamespacesSame),
	).Build()
	finder := Finder{Reader: reader, OperatorNamespace: "nestor-system"}
	for namespace, want := range map[string][]string{
		"team":          {"team/both", "team/own", "nestor-system/shared"},
		"empty":         {"nestor-system/both", "nestor-system/shared"},
		"nestor-system": {"nestor-system/both", "nestor-system/private", "nestor-system/same", "nestor-system/shared"},
	} {
		servers, err := finder.ToolServers(t.Context(), namespace)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range servers {
			names = append(names, s.Namespace+"/"+s.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s may use %q, want %q", namespace, names, want)
		}
	}
}
