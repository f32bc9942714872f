// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolserver

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// The sessions of all namespaces belong to the ToolServer: a change of one is handled as a change of the server, and
// the sessions end with the server.
func TestSessionsBelongToTheirServer(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	pool := mcp.NewPool(mcp.Options{})
	t.Cleanup(func() { pool.Retain(func(mcp.Key) bool { return false }) })
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).Build(), Pool: pool}
	shared := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: "nestor-system", Name: "lab"}}
	other := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "lab"}}
	open := func(namespace string, object *v1beta1.ToolServer) mcp.Key {
		key := SessionKey(namespace, object)
		if server := ServerOf(key); server != client.ObjectKeyFromObject(object) {
			t.Errorf("the session %v belongs to %v", key, server)
		}
		pool.Ensure(Server(resolve.Finder{}, nil, object, key))
		return key
	}
	ended := []mcp.Key{open("nestor-system", shared), open("team", shared)}
	remaining := open("team", other)
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(shared)}); err != nil {
		t.Fatal(err)
	}
	for _, key := range ended {
		if _, ok := pool.Lookup(key); ok {
			t.Errorf("the session %v is open after its server was deleted", key)
		}
	}
	if _, ok := pool.Lookup(remaining); !ok {
		t.Error("the session with another server was closed")
	}
}
