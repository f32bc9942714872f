// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
)

var (
	ledgerBatches      = prometheus.NewDesc("nestor_ledger_batches_total", "Batches that were appended to the ledger.", nil, nil)
	ledgerTransactions = prometheus.NewDesc("nestor_ledger_transactions_total", "Transactions that those batches shared.", nil, nil)
	ledgerQueue        = prometheus.NewDesc("nestor_ledger_queue", "Batches that currently wait to be written to the ledger.", nil, nil)
)

// Ledger collects the ledger's statistics when metrics are scraped.
type Ledger struct{ Stats func() ledger.Stats }

func (l Ledger) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- ledgerBatches
	descriptions <- ledgerTransactions
	descriptions <- ledgerQueue
}

func (l Ledger) Collect(metrics chan<- prometheus.Metric) {
	stats := l.Stats()
	metrics <- prometheus.MustNewConstMetric(ledgerBatches, prometheus.CounterValue, float64(stats.Batches))
	metrics <- prometheus.MustNewConstMetric(ledgerTransactions, prometheus.CounterValue, float64(stats.Transactions))
	metrics <- prometheus.MustNewConstMetric(ledgerQueue, prometheus.GaugeValue, float64(stats.Waiting))
}

// Timed returns a ledger that measures the duration of appends, and counts those that are fenced.
func (m *Metrics) Timed(inner engine.Ledger) engine.Ledger {
	return timed{Ledger: inner, seconds: m.ledgerSec.WithLabelValues(), fenced: m.fenced.WithLabelValues()}
}

type timed struct {
	engine.Ledger

	seconds prometheus.Observer
	fenced  prometheus.Counter
}

func (t timed) Append(ctx context.Context, batch ledger.Batch) error {
	started := time.Now()
	err := t.Ledger.Append(ctx, batch)
	switch {
	case err == nil:
		t.seconds.Observe(time.Since(started).Seconds())
	case errors.Is(err, ledger.ErrFenced):
		t.fenced.Inc()
	}
	return err
}
