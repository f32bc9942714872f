// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/history"
	"github.com/nestor-dev/nestor/internal/localcluster"
)

// serveHistory serves the history API until the test ends. The other tests run without it.
func serveHistory(t *testing.T, adjust ...func(*history.Options)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	options := history.Options{
		Cluster: world.cluster.Config, Ledger: world.ledger, Live: world.hub, Address: "127.0.0.1:0",
		Hosts: []string{"nestor-history." + operatorNamespace + ".svc"}, Poll: 100 * time.Millisecond,
	}
	for _, change := range adjust {
		change(&options)
	}
	server, err := history.New(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Start(ctx) }()
	err = world.cluster.ServeAPI(ctx, localcluster.API{
		GroupVersion: historyv1.GroupVersion, Namespace: operatorNamespace, Service: "nestor-history", Port: server.Port(), CABundle: server.CABundle(),
	})
	t.Cleanup(func() {
		registration := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}}
		registration.SetName(historyv1.GroupVersion.Version + "." + historyv1.GroupVersion.Group)
		if err := world.api.Delete(ctx, registration, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestHistoryScripts(t *testing.T) {
	serveHistory(t)
	runScripts(t, "testdata/history")
}

func TestRepliesStreamOntoTheScreen(t *testing.T) {
	serveHistory(t)
	slow, err := startModel(false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(slow.Close)
	s := openChatWith(t, slow.URL+"/v1", 80, 24)
	s.await("Nothing has been said yet.")
	s.typeKeys("Talk slowly." + enter)
	s.await("nestor …")
	s.await("one two three")
	s.await("the end.")
	s.waitForGone("nestor …")
}
