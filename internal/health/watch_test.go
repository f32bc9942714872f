// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestWatchReportsDeadOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		died := time.Now().Add(time.Minute)
		api := reader(t, interceptor.Funcs{Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			lease, ok := object.(*coordinationv1.Lease)
			if !ok {
				return api.Get(ctx, key, object, options...)
			}
			// Renewed every Period, until the operator dies and after it is back.
			renewed := time.Now().Truncate(Period)
			if now := time.Now(); now.After(died) && now.Before(died.Add(time.Minute)) {
				renewed = died.Truncate(Period)
			}
			moment := metav1.NewMicroTime(renewed)
			lease.ResourceVersion, lease.Spec.RenewTime = renewed.String(), &moment
			return nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		changes := Namespace{API: api, Name: "team", OperatorNamespace: "nestor-system", Heartbeat: &Observer{}}.Watch(ctx)
		if now := <-changes; len(now) != 1 || now[0].Kind != Operator || time.Since(died) < 0 || time.Since(died) > 10*time.Second {
			t.Errorf("%v, %s after the operator died", now, time.Since(died))
		}
		if now := <-changes; len(now) != 0 || time.Since(died) > 70*time.Second {
			t.Errorf("%v, %s after the operator died", now, time.Since(died))
		}
		cancel()
		if _, open := <-changes; open {
			t.Error("the watch does not end")
		}
	})
}
