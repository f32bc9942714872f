// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package serving has the metrics of HTTP servers that the operator and the gateway share. It depends neither on the
// engine nor on the ledger.
package serving

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/nestor-dev/nestor/internal/streams"
)

var (
	streamsOpen    = prometheus.NewDesc("nestor_streams", "Open streams, by server: `web` (pages), `history` (followed transcripts), `gateway` (requests of other protocols) or `replica` (agents followed through other replicas).", []string{"server"}, nil)
	streamsRefused = prometheus.NewDesc("nestor_streams_refused_total", "Streams that were refused because of a limit, by server.", []string{"server"}, nil)
)

// Streams collects the number of open streams when metrics are scraped.
type Streams struct {
	Stats map[string]func() streams.Stats
}

func (s Streams) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- streamsOpen
	descriptions <- streamsRefused
}

func (s Streams) Collect(metrics chan<- prometheus.Metric) {
	for server, read := range s.Stats {
		stats := read()
		metrics <- prometheus.MustNewConstMetric(streamsOpen, prometheus.GaugeValue, float64(stats.Open), server)
		metrics <- prometheus.MustNewConstMetric(streamsRefused, prometheus.CounterValue, float64(stats.Refused), server)
	}
}
