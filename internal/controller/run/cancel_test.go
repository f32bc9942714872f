// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/controller/resolve"
	"github.com/nestor-dev/nestor/internal/engine"
)

// A child that was created a moment ago is not in the cache yet. It must be cancelled all the same: counted as never begun, it
// would run on.
func TestAChildThatTheCacheDoesNotKnowYetIsCancelled(t *testing.T) {
	chat := &v1alpha1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "chat", UID: "chat"}}
	child := ownedBy(chat, "AgentChat", &v1alpha1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "chat-1"}})
	live := clusterWith(t, child)
	behind := interceptor.NewClient(live, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "agenttasks"}, key.Name)
		},
	})
	runner := &Runner{Client: behind, Finder: resolve.Finder{Live: live}, Engine: engine.New(engine.Options{})}
	if err := runner.cancelChild(t.Context(), Owner{Object: chat, Chat: "chat"}, "chat-1"); err != nil {
		t.Fatal(err)
	}
	if err := live.Get(t.Context(), client.ObjectKeyFromObject(child), child); err != nil {
		t.Fatal(err)
	}
	if !child.Spec.Cancel {
		t.Error("the child runs on")
	}
}

// clusterWith is an API server that has these objects.
func clusterWith(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}
