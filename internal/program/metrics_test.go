// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package program

import "testing"

func TestMetricsNeedAToken(t *testing.T) {
	if served := Metrics(":8080", false); !served.SecureServing || served.FilterProvider == nil {
		t.Errorf("by default the metrics are served to everyone: %+v", served)
	}
	if served := Metrics(":8080", true); served.SecureServing || served.FilterProvider != nil || served.BindAddress != ":8080" {
		t.Errorf("with --metrics-insecure: %+v", served)
	}
}
