// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// A shared role that has the name of a built-in one is withdrawn like any other: its agents do not continue with the
// built-in one.
func TestWithdrawnRoleStopsAgents(t *testing.T) {
	shared := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "coder"}}
	shared.Spec.AllowedNamespaces = &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesAll}
	cluster := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(shared).Build()
	roles := Roles{Finder: resolve.Finder{Reader: cluster, Live: cluster, OperatorNamespace: "system"}}
	try := func(role agent.Role) error {
		return roles.MayAct(t.Context(), ledger.Agent{Namespace: "team"}, agent.Config{Role: role})
	}
	theirs := agent.Role{Name: "coder", SharedBy: "system"}
	if err := try(theirs); err != nil {
		t.Errorf("a shared role cannot be used: %v", err)
	}
	shared.Spec.AllowedNamespaces = nil
	if err := cluster.Update(t.Context(), shared); err != nil {
		t.Fatal(err)
	}
	if err := try(theirs); err == nil || !strings.Contains(err.Error(), "can no longer be used in the namespace team") {
		t.Errorf("a role that is no longer shared: %v", err)
	}
	if err := cluster.Delete(t.Context(), shared); err != nil {
		t.Fatal(err)
	}
	if err := try(theirs); err == nil || !strings.Contains(err.Error(), "was deleted") {
		t.Errorf("a role that was deleted: %v", err)
	}
	if err := try(agent.Role{Name: "coder"}); err != nil {
		t.Errorf("a role of the agent's own namespace, or a built-in one: %v", err)
	}
}
