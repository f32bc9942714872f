// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func leaseIn(namespace, name string, age time.Duration) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(time.Now().Add(-age))}}
}

func TestOperatorIsFoundByHeartbeat(t *testing.T) {
	for name, tc := range map[string]struct {
		leases []client.Object
		want   string
	}{
		"none":                              {nil, "nestor-system"},
		"in the default namespace":          {[]client.Object{leaseIn("nestor-system", LeaseName, 0), leaseIn("a", LeaseName, time.Hour)}, "nestor-system"},
		"in another":                        {[]client.Object{leaseIn("a", "other", time.Hour), leaseIn("agents", LeaseName, 0)}, "agents"},
		"and a copy that someone has added": {[]client.Object{leaseIn("a", LeaseName, time.Minute), leaseIn("agents", LeaseName, time.Hour), leaseIn("b", LeaseName, 0)}, "agents"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := FindOperator(t.Context(), reader(t, interceptor.Funcs{}, tc.leases...))
			if err != nil || got != tc.want {
				t.Errorf("got %q, %v, want %s", got, err, tc.want)
			}
		})
	}
}

func TestOperatorWithoutPermissions(t *testing.T) {
	refusal := error(apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", nil))
	api := reader(t, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return refusal
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return refusal },
	})
	if got, err := FindOperator(t.Context(), api); err != nil || got != DefaultOperatorNamespace {
		t.Errorf("got %q, %v for a person without permissions", got, err)
	}
	refusal = errors.New("connection refused")
	if got, err := FindOperator(t.Context(), api); err == nil {
		t.Errorf("got %q although the API server does not answer", got)
	}
}

func TestWatchFindsTheOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		beat := leaseIn("agents", LeaseName, time.Hour)
		renewed := metav1.NewMicroTime(time.Now().Add(-time.Hour))
		beat.Spec.RenewTime = &renewed
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		problems, open := <-Namespace{API: reader(t, interceptor.Funcs{}, beat), Name: "team", Heartbeat: &Observer{}}.Watch(ctx)
		if !open || len(problems) != 1 || problems[0].Kind != Operator || problems[0].Todo != "Start it, or check its pods: kubectl get pods -n agents" {
			t.Errorf("the problems are %v", problems)
		}
	})
}
