// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import "testing"

func TestPluralsOfKinds(t *testing.T) {
	for kind, want := range map[string]string{
		"Pod": "pods", "Ingress": "ingresses", "NetworkPolicy": "networkpolicies", "Gateway": "gateways", "ConfigMap": "configmaps",
		"Patch": "patches", "Box": "boxes", "Y": "ys", "Event": "events", "StatefulSet": "statefulsets",
	} {
		if got := Plural(kind); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}
