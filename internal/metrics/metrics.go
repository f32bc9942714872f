// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics exports counters for Prometheus. Labels are few and bounded: questions about namespaces and single agents are
// answered by the ledger.
package metrics

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/engine/admission"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/version"
)

// Metrics are the operator's own metrics.
type Metrics struct {
	started, ended, turns                            *prometheus.CounterVec
	modelCalls, modelFailures, tokens, cost          *prometheus.CounterVec
	toolCalls, ledgerErrors, quotaWaits, quarantined *prometheus.CounterVec
	fenced, verdicts, evaluations, evaluationTasks   *prometheus.CounterVec
	agentSeconds, turnSeconds, takeoverSeconds       *prometheus.HistogramVec
	modelSeconds, modelWait, toolSeconds, ledgerSec  *prometheus.HistogramVec
	build, modelQueue, backOff                       *prometheus.GaugeVec
	live                                             *live
	policies                                         policySeries
}

// Bounds of the histograms, from a local tool to a model call of several minutes. Appends are faster, and waiting for people
// takes longer.
var (
	seconds     = []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 180, 600}
	fastSeconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5}
	slowSeconds = []float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 180, 600, 1800, 3600, 14400, 86400}
)

func New(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		build:           gauge("nestor_build_info", "Always 1; the label is the version.", "version"),
		started:         counter("nestor_agents_started_total", "Agents that started, by kind: `AgentChat`, `SubAgent` or `AgentTask` (a task of type Tool).", "kind"),
		ended:           counter("nestor_agents_ended_total", "Agents that ended, by kind and outcome: `Success` or the kind of error. Chats never end; see `nestor_turns_total`.", "kind", "outcome"),
		agentSeconds:    histogram("nestor_agent_seconds", "Duration of sub-agents and tool tasks, including waits for people.", slowSeconds, "kind"),
		turns:           counter("nestor_turns_total", "Turns of orchestrators that ended, by outcome: `Success` or the kind of error.", "outcome"),
		turnSeconds:     histogram("nestor_turn_seconds", "Duration of turns of orchestrators.", seconds),
		modelCalls:      counter("nestor_model_calls_total", "Model calls, by provider and status.", "provider", "status"),
		modelFailures:   counter("nestor_model_failures_total", "Model calls that failed, by provider and kind, such as `RateLimited`, `Unauthorized` or `Cancelled`.", "provider", "kind"),
		tokens:          counter("nestor_model_tokens_total", "Tokens used by model calls, by provider and type: `prompt` or `completion`.", "provider", "type"),
		cost:            counter("nestor_model_cost_micros_total", "Cost of model calls in millionths of the currency, as far as prices are known.", "provider"),
		modelSeconds:    histogram("nestor_model_call_seconds", "Duration of model calls, without the wait in the queue.", seconds, "provider"),
		modelWait:       histogram("nestor_model_wait_seconds", "Time that model calls waited in the queue.", seconds, "provider"),
		modelQueue:      gauge("nestor_model_queue", "Model calls that currently wait in the queue.", "provider"),
		backOff:         gauge("nestor_model_backoff_until_seconds", "Until when no calls are made to a provider that requested a pause, as a Unix time.", "provider"),
		toolCalls:       counter("nestor_tool_calls_total", "Tool calls, by status.", "status"),
		toolSeconds:     histogram("nestor_tool_call_seconds", "Duration of tool calls, by status.", seconds, "status"),
		ledgerSec:       histogram("nestor_ledger_append_seconds", "Time until an append to the ledger was durable.", fastSeconds),
		quotaWaits:      counter("nestor_quota_waits_total", "Model calls that started to wait for a quota, by reason: `QuotaExhausted` or `PriceUnknown` of an AgentQuota, `LedgerQuota` of the ledger.", "reason"),
		quarantined:     counter("nestor_agents_quarantined_total", "Agents that were quarantined because their history is damaged (`record`) or because the operator failed on it (`panic`).", "cause"),
		verdicts:        counter("nestor_policy_verdicts_total", "Verdicts of ToolPolicies on calls, by policy, rule (empty if the policy allows the call) and verdict: `Allow`, `RequireApproval` or `Deny`, and the same with the prefix `Audit` if it has no effect. After "+fmt.Sprint(maxPolicySeries)+" policies and rules, others are counted as `other`.", "policy", "rule", "verdict"),
		evaluations:     counter("nestor_evaluations_total", "Candidates that AgentEvaluations have judged, by verdict: `Passed`, `Failed` or `Inconclusive`.", "verdict"),
		evaluationTasks: counter("nestor_evaluation_tasks_total", "Tasks of judged candidates, by lane (`baseline` or `candidate`) and outcome: `Passed`, `Failed` or `Inconclusive`.", "lane", "outcome"),
		ledgerErrors:    counter("nestor_ledger_failures_total", "Writes that the ledger refused or failed; agents wait and retry."),
		fenced:          counter("nestor_ledger_fenced_appends_total", "Appends that the ledger refused because another replica has taken over the shard. Nothing of them was recorded."),
		takeoverSeconds: histogram("nestor_shard_takeover_seconds", "Time to recover the agents of a shard from the ledger, until all of them continue.", seconds),
		live:            &live{agents: map[string]agentStage{}, now: time.Now},
	}
	for _, c := range []prometheus.Collector{
		m.build, m.started, m.ended, m.agentSeconds, m.turns, m.turnSeconds, m.live, m.modelCalls, m.modelFailures, m.tokens, m.cost,
		m.modelSeconds, m.modelWait, m.modelQueue, m.backOff, m.toolCalls, m.toolSeconds, m.ledgerSec, m.ledgerErrors, m.quotaWaits, m.quarantined, m.fenced, m.takeoverSeconds, m.verdicts, m.evaluations, m.evaluationTasks,
	} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	m.build.WithLabelValues(version.String()).Set(1)
	m.initialise()
	return m, nil
}

var outcomes = []agent.ErrorKind{
	success, agent.ErrorCancelled, agent.ErrorTimedOut, agent.ErrorIterationLimit, agent.ErrorDepthLimit, agent.ErrorBudgetExhausted, agent.ErrorLoopDetected,
	agent.ErrorModel, agent.ErrorTool, agent.ErrorSubAgent, agent.ErrorInvalidSpec, agent.ErrorHistoryLost, agent.ErrorReviewRejected, agent.ErrorApprovalExpired, agent.ErrorDiverged,
	agent.ErrorEmptyReply, agent.ErrorReplyCutOff, agent.ErrorInvalidArguments, agent.ErrorOutputSchemaNotMet,
}

const success = "Success"

// initialise creates the series that alerts use: for Prometheus, the first sample of a series is not an increase.
func (m *Metrics) initialise() {
	m.ledgerErrors.WithLabelValues()
	m.fenced.WithLabelValues()
	m.takeoverSeconds.WithLabelValues()
	m.quotaWaits.WithLabelValues(admission.QuotaExhausted)
	m.quotaWaits.WithLabelValues(string(ledger.ReasonQuota))
	m.quarantined.WithLabelValues("record")
	m.quarantined.WithLabelValues("panic")
	for _, outcome := range outcomes {
		m.turns.WithLabelValues(string(outcome))
		m.ended.WithLabelValues("SubAgent", string(outcome))
		m.ended.WithLabelValues("AgentTask", string(outcome))
	}
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

// Recorded counts agents and turns that start and end, and updates the stages of agents.
func (m *Metrics) Recorded(c engine.Change) {
	if c.Before.Phase == agent.PhaseNew && len(c.Events) > 0 {
		m.started.WithLabelValues(c.Agent.Kind).Inc()
	}
	if wait := c.After.QuotaWait(); wait != nil && c.Before.QuotaWait() == nil {
		m.quotaWaits.WithLabelValues(wait.Reason).Inc()
	}
	m.countQuarantined(c)
	m.countVerdicts(c)
	m.live.update(c)
	for _, run := range c.Runs() {
		outcome, took := success, time.Duration(run.At-run.Since)*time.Millisecond
		if run.Kind != "" {
			outcome = string(run.Kind)
		}
		if run.State.Config.Kind == agent.Orchestrator {
			m.turns.WithLabelValues(outcome).Inc()
			m.turnSeconds.WithLabelValues().Observe(took.Seconds())
			continue
		}
		m.ended.WithLabelValues(c.Agent.Kind, outcome).Inc()
		m.agentSeconds.WithLabelValues(c.Agent.Kind).Observe(took.Seconds())
	}
}

func (m *Metrics) countQuarantined(c engine.Change) {
	for _, e := range c.Events {
		if f, ok := e.Fact.(agent.Quarantined); ok {
			cause := "record"
			if f.Panicked {
				cause = "panic"
			}
			m.quarantined.WithLabelValues(cause).Inc()
		}
	}
}

// CallCompleted counts a model or tool call.
func (m *Metrics) CallCompleted(c engine.CompletedCall) {
	if c.Tool != "" {
		m.toolCalls.WithLabelValues(string(c.Status)).Inc()
		m.toolSeconds.WithLabelValues(string(c.Status)).Observe(c.Duration.Seconds())
		return
	}
	m.modelCalls.WithLabelValues(c.Provider, string(c.Status)).Inc()
	m.modelSeconds.WithLabelValues(c.Provider).Observe(c.Duration.Seconds())
	m.tokens.WithLabelValues(c.Provider, "prompt").Add(float64(c.Usage.PromptTokens))
	m.tokens.WithLabelValues(c.Provider, "completion").Add(float64(c.Usage.CompletionTokens))
	if cost := c.Usage.CostMicros; cost != nil {
		m.cost.WithLabelValues(c.Provider).Add(float64(*cost))
	}
	if c.Failure != "" {
		m.modelFailures.WithLabelValues(c.Provider, c.Failure).Inc()
	}
}

func (m *Metrics) LedgerError() { m.ledgerErrors.WithLabelValues().Inc() }

// ShardTakenOver records how long it took until the agents of a shard continued.
func (m *Metrics) ShardTakenOver(took time.Duration) {
	m.takeoverSeconds.WithLabelValues().Observe(took.Seconds())
}

// ShardReleased drops the stages of a shard's agents, selected by the hashes of their trees: its next owner reports them.
func (m *Metrics) ShardReleased(contains func(hash int) bool) { m.live.drop(contains) }

func (m *Metrics) Waiting(provider string, calls int) {
	m.modelQueue.WithLabelValues(provider).Set(float64(calls))
}

func (m *Metrics) Granted(provider string, waited time.Duration) {
	m.modelWait.WithLabelValues(provider).Observe(waited.Seconds())
}

func (m *Metrics) BackedOff(provider string, until time.Time) {
	m.backOff.WithLabelValues(provider).Set(float64(until.Unix()))
}
