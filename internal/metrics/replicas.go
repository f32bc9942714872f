// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/nestor-dev/nestor/internal/replicas"
)

var (
	shards = prometheus.NewDesc("nestor_shards", "Shards that the replicas share (`--shards`), the same in every replica. 1 if one operator owns the whole ledger.", nil, nil)
	held   = prometheus.NewDesc("nestor_shards_held", "Shards that this replica holds. The sum over all replicas is `nestor_shards`, except for a moment when shards move.", nil, nil)
	moved  = prometheus.NewDesc("nestor_shard_handovers_total", "Shards that moved, by direction: `given` to another replica, `received` from one, `expired` (taken over from a failed replica) or `lost` (not renewed in time).",
		[]string{"direction"}, nil)
)

// Replicas collects what this replica holds when metrics are scraped.
type Replicas struct {
	Shards int
	Stats  func() replicas.Stats
}

func (r Replicas) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- shards
	descriptions <- held
	descriptions <- moved
}

func (r Replicas) Collect(metrics chan<- prometheus.Metric) {
	stats := r.Stats()
	metrics <- prometheus.MustNewConstMetric(shards, prometheus.GaugeValue, float64(r.Shards))
	metrics <- prometheus.MustNewConstMetric(held, prometheus.GaugeValue, float64(stats.Held))
	for direction, count := range map[string]int{"given": stats.HandedOver, "received": stats.Received, "expired": stats.TakenOver, "lost": stats.Lost} {
		metrics <- prometheus.MustNewConstMetric(moved, prometheus.CounterValue, float64(count), direction)
	}
}
