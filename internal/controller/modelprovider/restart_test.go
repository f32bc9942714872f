// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package modelprovider

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/endpoint"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/outbound"
)

// TestRestartWritesNothing reconciles a provider as an operator does that has just started: during its first probe, and
// after it.
func TestRestartWritesNothing(t *testing.T) {
	answers := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-answers
		_, _ = w.Write([]byte(`{"object":"list","data":[]}`))
	}))
	defer server.Close()
	for name, tc := range map[string]struct {
		earlier      metav1.Condition
		during, then string
		rewritten    bool
	}{
		"it was ready":                  {status.Ready(2, "The provider responds."), "Ready", "Ready", false},
		"another generation was ready":  {status.Ready(1, "The provider responds."), "NotChecked", "Ready", true},
		"it was not ready":              {status.NotReady(2, v1beta1.ReasonUnreachable, "The provider does not respond."), "NotChecked", "Ready", true},
		"no operator checked it before": {metav1.Condition{}, "NotChecked", "Ready", true},
	} {
		t.Run(name, func(t *testing.T) {
			object := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "default", UID: "uid", Generation: 2}}
			object.Spec.BaseURL, object.Spec.DefaultModel = server.URL+"/v1", "m"
			if tc.earlier.Type != "" {
				tc.earlier.LastTransitionTime = metav1.NewTime(time.Unix(1_700_000_000, 0))
				object.Status.Conditions, object.Status.ObservedGeneration = []metav1.Condition{tc.earlier}, tc.earlier.ObservedGeneration
			}
			scheme := runtime.NewScheme()
			if err := v1beta1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(object).WithStatusSubresource(object).Build()
			finder := resolve.Finder{Reader: api, Live: api}
			r := &Reconciler{
				Client: api, Finder: finder, Status: &status.Writer{Client: api},
				Clients: &endpoint.Clients{Finder: finder, Outbound: outbound.Options{AllowLoopback: true}},
			}
			probed := make(chan struct{}, 1)
			r.prober = newProber(time.Now, func(types.NamespacedName) { probed <- struct{}{} })
			before := reconcileOnce(t, r, "")
			if reason := before.Status.Conditions[0].Reason; reason != tc.during {
				t.Errorf("during the probe the reason is %s, want %s", reason, tc.during)
			}
			answers <- struct{}{}
			<-probed
			after := reconcileOnce(t, r, tc.then)
			if rewritten := after.ResourceVersion != "999"; rewritten != tc.rewritten {
				t.Errorf("written: %t, want %t: version %s", rewritten, tc.rewritten, after.ResourceVersion)
			}
		})
	}
}

// reconcileOnce reconciles the provider once and returns it; want is the reason, if it matters.
func reconcileOnce(t *testing.T, r *Reconciler, want string) *v1beta1.ModelProvider {
	t.Helper()
	name := types.NamespacedName{Namespace: "team", Name: "default"}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name}); err != nil {
		t.Fatal(err)
	}
	var object v1beta1.ModelProvider
	if err := r.Client.Get(t.Context(), name, &object); err != nil {
		t.Fatal(err)
	}
	if reason := object.Status.Conditions[0].Reason; want != "" && reason != want {
		t.Errorf("the reason is %s, want %s", reason, want)
	}
	return &object
}
