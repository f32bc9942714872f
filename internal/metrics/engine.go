// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/nestor-dev/nestor/internal/engine"
)

var (
	inMemory     = prometheus.NewDesc("nestor_agents_in_memory", "Agents in the engine's memory; waiting agents are evicted.", nil, nil)
	quotaWaiting = prometheus.NewDesc("nestor_quota_waiting", "Runs that currently wait for an AgentQuota.", nil, nil)
	ledgerFull   = prometheus.NewDesc("nestor_ledger_full_namespaces", "Namespaces that have filled their share of the ledger (`--ledger-namespace-quota`): their model calls wait.", nil, nil)
	inFlight     = prometheus.NewDesc("nestor_effects_in_flight", "Model calls, tool calls and timers in flight.", nil, nil)
	detached     = prometheus.NewDesc("nestor_detached_calls", "Calls that continue in one replica after their shard moved to another, by side: `making` here for another replica, or `awaiting` the result of another replica.", []string{"side"}, nil)
)

// Engine collects the engine's statistics when metrics are scraped.
type Engine struct{ Stats func() engine.Stats }

func (e Engine) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- inMemory
	descriptions <- inFlight
	descriptions <- quotaWaiting
	descriptions <- ledgerFull
	descriptions <- detached
}

func (e Engine) Collect(metrics chan<- prometheus.Metric) {
	stats := e.Stats()
	metrics <- prometheus.MustNewConstMetric(inMemory, prometheus.GaugeValue, float64(stats.Agents))
	metrics <- prometheus.MustNewConstMetric(inFlight, prometheus.GaugeValue, float64(stats.InFlight))
	metrics <- prometheus.MustNewConstMetric(quotaWaiting, prometheus.GaugeValue, float64(stats.QuotaWaiting))
	metrics <- prometheus.MustNewConstMetric(ledgerFull, prometheus.GaugeValue, float64(stats.LedgerFull))
	metrics <- prometheus.MustNewConstMetric(detached, prometheus.GaugeValue, float64(stats.Detached), "making")
	metrics <- prometheus.MustNewConstMetric(detached, prometheus.GaugeValue, float64(stats.Adopted), "awaiting")
}
