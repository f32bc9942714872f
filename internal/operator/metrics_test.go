// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import "testing"

func TestMetricsNeedAToken(t *testing.T) {
	o := &Operator{options: Options{MetricsAddress: ":8080"}}
	if served := o.metricsServer(); !served.SecureServing || served.FilterProvider == nil {
		t.Errorf("by default the metrics are served to everyone: %+v", served)
	}
	o.options.MetricsInsecure = true
	if served := o.metricsServer(); served.SecureServing || served.FilterProvider != nil || served.BindAddress != ":8080" {
		t.Errorf("with --metrics-insecure: %+v", served)
	}
}
