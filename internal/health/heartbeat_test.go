// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestObserverToleratesOtherClocks(t *testing.T) {
	start := time.Now()
	for name, tc := range map[string]struct {
		offset time.Duration // of the operator's clock
		renews bool
		want   bool // whether it looks alive at the end
	}{
		"renews":                   {0, true, true},
		"renews, clock is behind":  {-50 * time.Second, true, true},
		"renews, clock is ahead":   {50 * time.Second, true, true},
		"is dead":                  {0, false, false},
		"is dead, clock is behind": {-50 * time.Second, false, false},
		"is dead, clock is ahead":  {50 * time.Second, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var o Observer
			silent := time.Duration(0)
			lease := &coordinationv1.Lease{}
			for second := range 12 {
				now := start.Add(time.Duration(second) * time.Second)
				if second == 0 || tc.renews && second%2 == 0 {
					renewed := metav1.NewMicroTime(now.Add(tc.offset))
					lease.ResourceVersion, lease.Spec.RenewTime = now.String(), &renewed
				}
				if silent = o.Observe(lease, now); second == 0 && silent > Patience {
					t.Fatal("a heartbeat that was just seen looks dead")
				}
			}
			if alive := silent <= Patience; alive != tc.want {
				t.Errorf("alive: %t after %s without a change", alive, silent)
			}
		})
	}
}

func TestOldHeartbeatIsDeadImmediately(t *testing.T) {
	renewed := metav1.NewMicroTime(time.Now().Add(-time.Hour))
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}}
	if silent := new(Observer).Observe(lease, time.Now()); silent < time.Minute {
		t.Errorf("silent for %s", silent)
	}
}
