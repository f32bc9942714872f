// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
)

// clusterWith has some objects, and counts the lists that it is asked for.
func clusterWith(t *testing.T, lists *int, objects ...client.Object) client.WithWatch {
	t.Helper()
	return interceptor.NewClient(fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(objects...).Build(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			*lists++
			return c.List(ctx, list, opts...)
		},
	})
}

func roleNamed(namespace, name string) *v1beta1.AgentRole {
	return &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1beta1.AgentRoleSpec{SystemPrompt: "You are " + namespace + "/" + name + "."}}
}

func shared(r *v1beta1.AgentRole) *v1beta1.AgentRole {
	r.Spec.AllowedNamespaces = &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesAll}
	return r
}

func TestCacheMissIsConfirmedLive(t *testing.T) {
	var lists int
	live := clusterWith(t, &lists, roleNamed("team", "poet"), roleNamed("team", "coder"), roleNamed("team", "common"), shared(roleNamed("system", "common")), shared(roleNamed("system", "late")))
	f := Finder{Reader: clusterWith(t, new(int), shared(roleNamed("system", "common"))), Live: live, Absent: &Absences{}, OperatorNamespace: "system"}
	f.Begin("team")
	for name, prompt := range map[string]string{
		"poet":   "You are team/poet.",
		"coder":  "You are team/coder.",  // and not the built-in one
		"common": "You are team/common.", // and not the shared one
		"late":   "You are system/late.",
	} {
		found, err := f.Role(t.Context(), "team", name)
		if err != nil || found.SystemPrompt != prompt {
			t.Errorf("%s: got %q (%v), want %q", name, found.SystemPrompt, err, prompt)
		}
	}
	var missing *Missing
	if _, err := f.Role(t.Context(), "team", "nobody"); !errors.As(err, &missing) {
		t.Errorf("a role that does not exist: %v", err)
	}
	if lists > 2 {
		t.Errorf("it took %d lists to look in two namespaces", lists)
	}
}

func TestAbsenceIsNotSharedLater(t *testing.T) {
	var lists int
	live := clusterWith(t, &lists)
	f := Finder{Reader: clusterWith(t, new(int)), Live: live, Absent: &Absences{}, OperatorNamespace: "system"}
	if _, err := f.Role(t.Context(), "team", "poet"); err == nil {
		t.Fatal("there is no poet")
	}
	if err := live.Create(t.Context(), roleNamed("team", "poet")); err != nil {
		t.Fatal(err)
	}
	f.Begin("team") // a chat that was created after the role
	if _, err := f.Role(t.Context(), "team", "poet"); err != nil {
		t.Errorf("the poet existed before the chat: %v", err)
	}
}
