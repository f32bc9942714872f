// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/nestor-dev/nestor/internal/kubewrites"
)

var (
	writesLimit    = prometheus.NewDesc("nestor_kube_api_writes_limit", "Maximum number of concurrent writes of Nestor's objects to the API server; see `--kube-api-writes`.", nil, nil)
	writesInFlight = prometheus.NewDesc("nestor_kube_api_writes_in_flight", "Writes to the API server in flight.", nil, nil)
	writesWaiting  = prometheus.NewDesc("nestor_kube_api_writes_waiting", "Writes that wait because the limit is reached.", nil, nil)
)

// Writes collects the operator's writes in flight when metrics are scraped.
type Writes struct{ Stats func() kubewrites.Stats }

func (w Writes) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- writesLimit
	descriptions <- writesInFlight
	descriptions <- writesWaiting
}

func (w Writes) Collect(metrics chan<- prometheus.Metric) {
	stats := w.Stats()
	metrics <- prometheus.MustNewConstMetric(writesLimit, prometheus.GaugeValue, float64(stats.Limit))
	metrics <- prometheus.MustNewConstMetric(writesInFlight, prometheus.GaugeValue, float64(stats.InFlight))
	metrics <- prometheus.MustNewConstMetric(writesWaiting, prometheus.GaugeValue, float64(stats.Waiting))
}
