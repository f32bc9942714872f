// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics counts for Prometheus what agents do. Labels are few and bounded: namespaces and names of agents are for the
// ledger, which can answer any question about them.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
)

// Metrics are the operator's own metrics.
type Metrics struct {
	started, ended, modelCalls, tokens, toolCalls, trouble *prometheus.CounterVec
	modelSeconds, modelWait, toolSeconds                   *prometheus.HistogramVec
	modelQueue, backOff                                    *prometheus.GaugeVec
}

// seconds are the bounds of the histograms: from a tool that computes to a model that thinks for minutes.
var seconds = []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 180, 600}

// New makes the metrics and registers them.
func New(registry prometheus.Registerer) (*Metrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: seconds}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		started:      counter("nestor_agents_started_total", "Agents that began, by kind.", "kind"),
		ended:        counter("nestor_agents_ended_total", "Agents that ended, by kind and by how: Success or the kind of error.", "kind", "outcome"),
		modelCalls:   counter("nestor_model_calls_total", "Model calls that were made, by provider and status.", "provider", "status"),
		tokens:       counter("nestor_model_tokens_total", "Tokens that model calls used, by provider and type: prompt or completion.", "provider", "type"),
		modelSeconds: histogram("nestor_model_call_seconds", "How long model calls took, without the wait for their turn.", "provider"),
		modelWait:    histogram("nestor_model_wait_seconds", "How long model calls waited for their turn.", "provider"),
		modelQueue:   gauge("nestor_model_queue", "Model calls that wait for their turn now.", "provider"),
		backOff:      gauge("nestor_model_backoff_until_seconds", "Until when a provider that asked for it is left alone, as a Unix time.", "provider"),
		toolCalls:    counter("nestor_tool_calls_total", "Tool calls that were made, by status.", "status"),
		toolSeconds:  histogram("nestor_tool_call_seconds", "How long tool calls took.", "status"),
		trouble:      counter("nestor_ledger_failures_total", "Writes that the ledger refused or could not take; agents wait and try again."),
	}
	for _, c := range []prometheus.Collector{
		m.started, m.ended, m.modelCalls, m.tokens, m.modelSeconds, m.modelWait, m.modelQueue, m.backOff, m.toolCalls, m.toolSeconds, m.trouble,
	} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Changed counts agents that begin and end.
func (m *Metrics) Changed(c engine.Change) {
	if c.Before.Phase == agent.PhaseNew {
		m.started.WithLabelValues(c.Agent.Kind).Inc()
	}
	if !c.After.Phase.Terminal() || c.Before.Phase.Terminal() {
		return
	}
	outcome := "Success"
	if kind := c.After.Outcome.Kind; kind != "" {
		outcome = string(kind)
	}
	m.ended.WithLabelValues(c.Agent.Kind, outcome).Inc()
}

// Called counts a model or tool call.
func (m *Metrics) Called(c engine.Call) {
	if c.Tool != "" {
		m.toolCalls.WithLabelValues(string(c.Status)).Inc()
		m.toolSeconds.WithLabelValues(string(c.Status)).Observe(c.Took.Seconds())
		return
	}
	m.modelCalls.WithLabelValues(c.Provider, string(c.Status)).Inc()
	m.modelSeconds.WithLabelValues(c.Provider).Observe(c.Took.Seconds())
	m.tokens.WithLabelValues(c.Provider, "prompt").Add(float64(c.Usage.PromptTokens))
	m.tokens.WithLabelValues(c.Provider, "completion").Add(float64(c.Usage.CompletionTokens))
}

// Trouble counts a failure of the ledger.
func (m *Metrics) Trouble() { m.trouble.WithLabelValues().Inc() }

// Waiting implements schedule.Observer.
func (m *Metrics) Waiting(provider string, calls int) {
	m.modelQueue.WithLabelValues(provider).Set(float64(calls))
}

// Granted implements schedule.Observer.
func (m *Metrics) Granted(provider string, waited time.Duration) {
	m.modelWait.WithLabelValues(provider).Observe(waited.Seconds())
}

// BackedOff implements schedule.Observer.
func (m *Metrics) BackedOff(provider string, until time.Time) {
	m.backOff.WithLabelValues(provider).Set(float64(until.Unix()))
}
