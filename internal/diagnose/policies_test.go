// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nestor-dev/nestor/internal/policy"
)

func TestPoliciesWhoseExpressionsFail(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	event := func(name, namespace, reason, about string) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Reason: reason,
			InvolvedObject: corev1.ObjectReference{Name: "job-" + name}, Related: &corev1.ObjectReference{Namespace: "team", Name: about},
		}
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithIndex(&corev1.Event{}, "reason", func(o client.Object) []string {
		return []string{o.(*corev1.Event).Reason}
	}).WithObjects(
		event("a", "team", policy.EventFailed, "writes"), event("b", "team", policy.EventFailed, "writes"),
		event("c", "team", policy.EventDenied, "strict"), event("d", "other", policy.EventFailed, "elsewhere"),
	).Build()
	want := []Finding{{
		Check: "policy", Status: Warning, Message: "an expression of the ToolPolicy team/writes failed on a call of job-a",
		Advice: "kubectl nestor policy explain job-a -n team shows the error.",
	}}
	if got := (Target{API: api, Namespace: "team"}).failedPolicies(t.Context()); !slices.Equal(got, want) {
		t.Errorf("the findings are %+v", got)
	}
	forbidden := interceptor.NewClient(api, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return apierrors.NewForbidden(corev1.Resource("events"), "", nil)
	}})
	if got := (Target{API: forbidden, Namespace: "team"}).failedPolicies(t.Context()); len(got) != 1 || got[0].Status != Unknown {
		t.Errorf("without permission, the findings are %+v", got)
	}
}
