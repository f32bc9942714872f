// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/endpoint"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model/schedule"
)

func TestRevokedAccessStopsNextCall(t *testing.T) {
	shared := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "default"}}
	shared.Spec.BaseURL = "http://127.0.0.1:1"
	shared.Spec.AllowedNamespaces = &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesAll}
	cluster := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(shared).Build()
	finder := resolve.Finder{Reader: cluster, Live: cluster, OperatorNamespace: "system"}
	models := &Models{Finder: finder, Scheduler: schedule.New(schedule.Options{}), Clients: &endpoint.Clients{Finder: finder}}
	agent := ledger.Agent{Namespace: "team", Provider: "system/default", Model: "m"}
	try := func() error {
		t.Helper()
		_, routed := models.Route(t.Context(), agent)
		_, reached := models.Endpoint(t.Context(), agent, agent.Provider)
		if (routed == nil) != (reached == nil) {
			t.Fatalf("a call can be planned (%v), or made (%v), and not both", routed, reached)
		}
		return routed
	}
	if err := try(); err != nil {
		t.Fatalf("a shared provider cannot be used: %v", err)
	}
	shared.Spec.AllowedNamespaces.From = v1beta1.NamespacesSame
	if err := cluster.Update(t.Context(), shared); err != nil {
		t.Fatal(err)
	}
	if err := try(); err == nil || !strings.Contains(err.Error(), "cannot be used in the namespace team") {
		t.Errorf("a provider that is no longer shared: %v", err)
	}
	agent.Namespace = "system"
	if err := try(); err != nil {
		t.Errorf("a provider cannot be used in its own namespace: %v", err)
	}
	if err := cluster.Delete(t.Context(), shared); err != nil {
		t.Fatal(err)
	}
	if err := try(); err == nil {
		t.Error("a deleted provider can be used")
	}
}

// The caches of different kinds are not synchronized: an agent may start with a provider or a role that the cache does
// not have yet.
func TestUncachedProviderIsReadLive(t *testing.T) {
	provider := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "default"}}
	provider.Spec.BaseURL = "http://127.0.0.1:1"
	remote := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "weather"}}
	remote.Spec.Remote = &v1beta1.RemoteAgent{A2A: v1beta1.A2AAgent{URL: "http://127.0.0.1:1"}}
	remote.Spec.AllowedNamespaces = &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesAll}
	finder := resolve.Finder{Reader: fake.NewClientBuilder().WithScheme(kube.NewScheme()).Build(), Live: fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(provider, remote).Build()}
	models := &Models{Finder: finder, Scheduler: schedule.New(schedule.Options{}), Clients: &endpoint.Clients{Finder: finder}}
	for _, agent := range []ledger.Agent{
		{Namespace: "team", Provider: "team/default", Model: "m"},
		{Namespace: "team", Provider: "system/a2a:weather", Model: "http://127.0.0.1:1"},
	} {
		_, routed := models.Route(t.Context(), agent)
		_, reached := models.Endpoint(t.Context(), agent, agent.Provider)
		if routed != nil || reached != nil {
			t.Errorf("%s cannot be used: %v, %v", agent.Provider, routed, reached)
		}
	}
}

// Each read copies the provider with all its models and prices. A call reads it when it is planned and when it is made.
func TestCallReadsItsProviderTwice(t *testing.T) {
	provider := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "default"}}
	provider.Spec.BaseURL = "http://127.0.0.1:1"
	looks := 0
	cluster := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(provider).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			looks++
			return c.Get(ctx, key, object, options...)
		},
	}).Build()
	models := &Models{Finder: resolve.Finder{Reader: cluster, Live: cluster}, Scheduler: schedule.New(schedule.Options{}), Clients: &endpoint.Clients{}}
	agent := ledger.Agent{Namespace: "team", Provider: "team/default", Model: "m"}
	_, routed := models.Route(t.Context(), agent)
	_, reached := models.Endpoint(t.Context(), agent, agent.Provider)
	if routed != nil || reached != nil || looks != 2 {
		t.Errorf("%d looks, want 2 (%v, %v)", looks, routed, reached)
	}
}
