// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/endpoint"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model/schedule"
	"github.com/nestor-dev/nestor/internal/role"
)

// TestRemoteAgentsKeepTheirServer changes the role of a run in progress: the headers of one server must never reach
// another.
func TestRemoteAgentsKeepTheirServer(t *testing.T) {
	object := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "weather"}}
	object.Spec.Remote = &v1beta1.RemoteAgent{A2A: v1beta1.A2AAgent{URL: "http://first.example.com"}}
	object.Spec.AllowedNamespaces = &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesAll}
	cluster := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(object).Build()
	finder := resolve.Finder{Reader: cluster, Live: cluster, OperatorNamespace: "system"}
	models := &Models{Finder: finder, Scheduler: schedule.New(schedule.Options{}), Clients: &endpoint.Clients{Finder: finder}}
	agent := ledger.Agent{Namespace: "team", Provider: endpoint.RemoteProvider(role.Role{Namespace: "system", Name: "weather"}), Model: "http://first.example.com"}
	try := func(want string) {
		t.Helper()
		_, routed := models.Route(t.Context(), agent)
		found, reached := models.Endpoint(t.Context(), agent, agent.Provider)
		if (routed == nil) != (reached == nil) {
			t.Fatalf("a call can be planned (%v), or made (%v), and not both", routed, reached)
		}
		if want == "" && (reached != nil || found.Client.Host() != "first.example.com") || want != "" && (reached == nil || !strings.Contains(reached.Error(), want)) {
			t.Errorf("%v, want %q", reached, want)
		}
	}
	update := func(change func()) {
		t.Helper()
		change()
		if err := cluster.Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	try("")
	update(func() { object.Spec.Remote.A2A.URL = "http://second.example.com" })
	try("has another remote agent now")
	update(func() { object.Spec.Remote, object.Spec.SystemPrompt = nil, "You know the weather." })
	try("has another remote agent now")
	update(func() {
		object.Spec.SystemPrompt, object.Spec.Remote = "", &v1beta1.RemoteAgent{A2A: v1beta1.A2AAgent{URL: "http://first.example.com"}}
	})
	try("")
	update(func() { object.Spec.AllowedNamespaces.From = v1beta1.NamespacesSame })
	try("can no longer be used in the namespace team")
	if err := cluster.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	try("was deleted")
}
