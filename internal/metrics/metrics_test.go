// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/kubewrites"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/internal/metrics"
	"github.com/nestor-dev/nestor/internal/metrics/serving"
	"github.com/nestor-dev/nestor/internal/replicas"
	"github.com/nestor-dev/nestor/internal/streams"
)

func TestMetricsCountWhatAgentsDo(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	registry.MustRegister(metrics.Engine{Stats: func() engine.Stats { return engine.Stats{Agents: 3, InFlight: 2, Detached: 1, Adopted: 4} }})
	registry.MustRegister(metrics.Ledger{Stats: func() ledger.Stats { return ledger.Stats{Batches: 9, Transactions: 4, Waiting: 1} }})
	registry.MustRegister(metrics.Writes{Stats: func() kubewrites.Stats { return kubewrites.Stats{Limit: 16, InFlight: 9, Waiting: 3} }})
	registry.MustRegister(serving.Streams{Stats: map[string]func() streams.Stats{"web": func() streams.Stats { return streams.Stats{Open: 2, Refused: 1} }}})
	registry.MustRegister(metrics.Replicas{Shards: 32, Stats: func() replicas.Stats {
		return replicas.Stats{Held: 11, HandedOver: 2, Received: 3, TakenOver: 4, Lost: 5}
	}})
	record := ledger.Agent{UID: "a", Kind: "SubAgent"}
	start := agent.Event{At: 1, Fact: agent.Started{Config: agent.Config{Kind: agent.SubAgent, Name: "a"}}}
	end := agent.Event{At: 2001, Fact: agent.Cancelled{}}
	running := agent.Replay(agent.State{}, []agent.Event{start})
	cancelled := agent.Replay(running, []agent.Event{end})
	m.Recorded(engine.Change{Agent: record, After: running, Events: []agent.Event{start}})
	m.Recorded(engine.Change{Agent: record, Before: running, After: cancelled, Events: []agent.Event{end}})
	m.Recorded(engine.Change{Agent: record, Before: cancelled, After: cancelled})
	cost := int64(300)
	m.CallCompleted(engine.CompletedCall{Provider: "ns/default", Status: ledger.StatusSuccess, Duration: time.Second, Usage: budget.Usage{PromptTokens: 7, CompletionTokens: 5, CostMicros: &cost}})
	m.CallCompleted(engine.CompletedCall{Provider: "ns/default", Status: ledger.StatusFailed, Failure: "RateLimited", Duration: time.Second})
	m.CallCompleted(engine.CompletedCall{Tool: "calculator", Status: ledger.StatusFailed, Duration: time.Second})
	m.Waiting("ns/default", 4)
	m.Granted("ns/default", time.Second)
	m.BackedOff("ns/default", time.Unix(100, 0))
	m.LedgerError()
	want := `
# HELP nestor_agents_in_memory Agents in the engine's memory; waiting agents are evicted.
# TYPE nestor_agents_in_memory gauge
nestor_agents_in_memory 3
# HELP nestor_agents_started_total Agents that started, by kind: ` + "`AgentChat`, `SubAgent` or `AgentTask`" + ` (a task of type Tool).
# TYPE nestor_agents_started_total counter
nestor_agents_started_total{kind="SubAgent"} 1
# HELP nestor_detached_calls Calls that continue in one replica after their shard moved to another, by side: ` + "`making` here for another replica, or `awaiting`" + ` the result of another replica.
# TYPE nestor_detached_calls gauge
nestor_detached_calls{side="awaiting"} 4
nestor_detached_calls{side="making"} 1
# HELP nestor_ledger_failures_total Writes that the ledger refused or failed; agents wait and retry.
# TYPE nestor_ledger_failures_total counter
nestor_ledger_failures_total 1
# HELP nestor_model_calls_total Model calls, by provider and status.
# TYPE nestor_model_calls_total counter
nestor_model_calls_total{provider="ns/default",status="Failed"} 1
nestor_model_calls_total{provider="ns/default",status="Success"} 1
# HELP nestor_model_cost_micros_total Cost of model calls in millionths of the currency, as far as prices are known.
# TYPE nestor_model_cost_micros_total counter
nestor_model_cost_micros_total{provider="ns/default"} 300
# HELP nestor_model_failures_total Model calls that failed, by provider and kind, such as ` + "`RateLimited`, `Unauthorized` or `Cancelled`" + `.
# TYPE nestor_model_failures_total counter
nestor_model_failures_total{kind="RateLimited",provider="ns/default"} 1
# HELP nestor_model_queue Model calls that currently wait in the queue.
# TYPE nestor_model_queue gauge
nestor_model_queue{provider="ns/default"} 4
# HELP nestor_model_tokens_total Tokens used by model calls, by provider and type: ` + "`prompt` or `completion`" + `.
# TYPE nestor_model_tokens_total counter
nestor_model_tokens_total{provider="ns/default",type="completion"} 5
nestor_model_tokens_total{provider="ns/default",type="prompt"} 7
# HELP nestor_shard_handovers_total Shards that moved, by direction: ` + "`given` to another replica, `received` from one, `expired` (taken over from a failed replica) or `lost`" + ` (not renewed in time).
# TYPE nestor_shard_handovers_total counter
nestor_shard_handovers_total{direction="expired"} 4
nestor_shard_handovers_total{direction="given"} 2
nestor_shard_handovers_total{direction="lost"} 5
nestor_shard_handovers_total{direction="received"} 3
# HELP nestor_shards Shards that the replicas share (` + "`--shards`" + `), the same in every replica. 1 if one operator owns the whole ledger.
# TYPE nestor_shards gauge
nestor_shards 32
# HELP nestor_shards_held Shards that this replica holds. The sum over all replicas is ` + "`nestor_shards`" + `, except for a moment when shards move.
# TYPE nestor_shards_held gauge
nestor_shards_held 11
# HELP nestor_streams Open streams, by server: ` + "`web` (pages), `history` (followed transcripts), `gateway` (requests of other protocols) or `replica`" + ` (agents followed through other replicas).
# TYPE nestor_streams gauge
nestor_streams{server="web"} 2
# HELP nestor_streams_refused_total Streams that were refused because of a limit, by server.
# TYPE nestor_streams_refused_total counter
nestor_streams_refused_total{server="web"} 1
# HELP nestor_tool_calls_total Tool calls, by status.
# TYPE nestor_tool_calls_total counter
nestor_tool_calls_total{status="Failed"} 1
`
	err = testutil.GatherAndCompare(registry, strings.NewReader(want), "nestor_agents_in_memory", "nestor_agents_started_total",
		"nestor_ledger_failures_total", "nestor_model_calls_total", "nestor_model_queue", "nestor_model_tokens_total", "nestor_tool_calls_total",
		"nestor_model_cost_micros_total", "nestor_model_failures_total", "nestor_streams", "nestor_streams_refused_total",
		"nestor_shards", "nestor_shards_held", "nestor_shard_handovers_total", "nestor_detached_calls")
	if err != nil {
		t.Error(err)
	}
	if n := metricValue(t, registry, "nestor_agents_ended_total", "SubAgent", "Cancelled"); n != 1 {
		t.Errorf("%g agents were cancelled", n)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestMetricsAreRegisteredOnce(t *testing.T) {
	registry := prometheus.NewRegistry()
	if _, err := metrics.New(registry); err != nil {
		t.Fatal(err)
	}
	if _, err := metrics.New(registry); err == nil {
		t.Error("the same metrics were registered twice")
	}
}

// A turn is counted once, with its error, and the time spent waiting for a person is visible, even after a restart
// of the operator.
func TestTurnsAndWaits(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	chat := testAgent{metrics: m, record: ledger.Agent{UID: "chat", Kind: "AgentChat"}}
	chat.apply(agent.Started{Config: agent.Config{Kind: agent.Orchestrator, Name: "chat"}})
	chat.apply(agent.MessageArrived{Message: "one"})
	chat.apply(agent.ModelReplied{Call: "m1", Text: "done"})
	chat.apply(agent.MessageArrived{Message: "two"}, agent.ModelFailed{Call: "m2", Attempt: 1, Failure: agent.FailureFinal}, agent.MessageArrived{Message: "three"})
	chat.apply(agent.Cancelled{})
	chat.apply(agent.MessageArrived{Message: "four"})
	sub := testAgent{metrics: m, record: ledger.Agent{UID: "sub", Kind: "SubAgent"}}
	sub.apply(agent.Started{Config: agent.Config{Kind: agent.SubAgent, Name: "sub"}})
	sub.apply(agent.ModelReplied{Call: "m1", Calls: []agent.ToolCall{{ID: "q", Tool: agent.ToolAskUser, Arguments: `{"question":"which?"}`}}})
	checkStages(t, registry, `
nestor_agents{kind="AgentChat",standing="Active"} 1
nestor_agents{kind="SubAgent",standing="WaitingForUser"} 1
`)
	if waited := metricValue(t, registry, "nestor_longest_wait_for_person_seconds"); waited < time.Hour.Seconds() {
		t.Errorf("an agent has waited since 1970, but the metric is %g seconds", waited)
	}
	for outcome, want := range map[string]float64{"Success": 1, "ModelError": 1, "Cancelled": 1} {
		if n := metricValue(t, registry, "nestor_turns_total", outcome); n != want {
			t.Errorf("%g turns ended with %s, want %g", n, outcome, want)
		}
	}
	m.Recorded(engine.Change{Agent: sub.record, Before: sub.state, After: sub.state, Deleted: true})
	m.Recorded(engine.Change{Agent: chat.record, Before: chat.state, After: chat.state, Deleted: true})
	checkStages(t, registry, "")
}

// Agents of a shard that moved to another replica are counted there.
func TestReleasedShardIsNotCounted(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	for hash, uid := range []string{"stays", "moves"} {
		sub := testAgent{metrics: m, record: ledger.Agent{UID: uid, Kind: "SubAgent", ShardHash: hash}}
		sub.apply(agent.Started{Config: agent.Config{Kind: agent.SubAgent, Name: uid}})
	}
	m.ShardReleased(func(hash int) bool { return hash == 1 })
	checkStages(t, registry, `
nestor_agents{kind="SubAgent",standing="Active"} 1
`)
	m.ShardReleased(func(hash int) bool { return hash == 0 })
	checkStages(t, registry, "")
}

// The wait for a person counts from the question, whichever operator posted it.
func TestLongestWaitSurvivesARestart(t *testing.T) {
	asked := time.Now().Add(-3 * time.Hour)
	first, err := metrics.New(prometheus.NewPedanticRegistry())
	if err != nil {
		t.Fatal(err)
	}
	sub := testAgent{metrics: first, record: ledger.Agent{UID: "sub", Kind: "SubAgent"}}
	sub.applyAt(asked.Add(-time.Hour), agent.Started{Config: agent.Config{Kind: agent.SubAgent, Name: "sub", Tools: []agent.Tool{{Name: "write", BuiltIn: true}}}})
	sub.applyAt(asked, agent.ModelReplied{Call: "m1", Calls: []agent.ToolCall{{ID: "w", Tool: "write"}, {ID: "q", Tool: agent.ToolAskUser, Arguments: `{"question":"which?"}`}}})

	registry := prometheus.NewPedanticRegistry()
	if sub.metrics, err = metrics.New(registry); err != nil {
		t.Fatal(err)
	}
	for _, fact := range []agent.Fact{agent.Restarted{}, agent.Decided{Call: "w"}} {
		sub.applyAt(time.Now(), fact)
		waited := metricValue(t, registry, "nestor_longest_wait_for_person_seconds")
		if waited < (3*time.Hour).Seconds() || waited > (4*time.Hour).Seconds() {
			t.Errorf("after %T the wait is %g seconds, but the question was posted three hours ago", fact, waited)
		}
	}
	sub.applyAt(time.Now(), agent.Answered{Call: "q", Text: "this"})
	if waited := metricValue(t, registry, "nestor_longest_wait_for_person_seconds"); waited != 0 {
		t.Errorf("the question is answered, but the wait is %g seconds", waited)
	}
}

func checkStages(t *testing.T, registry prometheus.Gatherer, want string) {
	t.Helper()
	if want != "" {
		want = "# HELP nestor_agents Agents that have not ended, by kind and phase, such as `Active`, `Idle`, `WaitingForUser` or `WaitingForApproval`.\n# TYPE nestor_agents gauge" + want
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "nestor_agents"); err != nil {
		t.Error(err)
	}
}

// metricValue returns the value of a counter or gauge with these label values, in the order of the label names.
func metricValue(t *testing.T, registry prometheus.Gatherer, name string, labels ...string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var values []string
			for _, label := range metric.GetLabel() {
				values = append(values, label.GetValue())
			}
			if family.GetName() == name && slices.Equal(values, labels) {
				return metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("there is no %s%q", name, labels)
	return 0
}

// testAgent is an agent whose steps are counted.
type testAgent struct {
	metrics *metrics.Metrics
	record  ledger.Agent
	state   agent.State
}

// apply applies facts in one batch, one second after the previous one.
func (p *testAgent) apply(facts ...agent.Fact) {
	p.applyAt(time.UnixMilli(int64(p.state.Clock.Now)+1000), facts...)
}

func (p *testAgent) applyAt(at time.Time, facts ...agent.Fact) {
	c := engine.Change{Agent: p.record, Before: p.state}
	for _, fact := range facts {
		e := agent.Event{At: agent.Time(at.UnixMilli()), Fact: fact}
		p.state = agent.Replay(p.state, []agent.Event{e})
		c.Events = append(c.Events, e)
	}
	c.After = p.state
	p.metrics.Recorded(c)
}

func TestAppendsAreTimed(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	store := ledgertest.OpenSQLite(t)
	batch := ledger.Batch{Agent: "a", Create: &ledger.Agent{UID: "a", Root: "a", CreatedAt: time.Now()}, Events: []ledger.Event{{Type: "Started", At: time.Now(), Data: []byte("{}")}}}
	if err := m.Timed(store).Append(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := m.Timed(store).Append(t.Context(), batch); err == nil {
		t.Fatal("the same events were appended twice")
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "nestor_ledger_append_seconds" && f.GetMetric()[0].GetHistogram().GetSampleCount() != 1 {
			t.Errorf("%d appends were timed", f.GetMetric()[0].GetHistogram().GetSampleCount())
		}
	}
}

// An append in an epoch that is over is counted, and other refusals are not.
func TestFencedAppendsAreCounted(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	store := ledgertest.OpenSQLite(t)
	old, err := store.TakeOver(t.Context(), ledger.FirstShard, 0, "first", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.TakeOver(t.Context(), ledger.FirstShard, old.Epoch, "second", time.Now()); err != nil {
		t.Fatal(err)
	}
	batch := ledger.Batch{Agent: "a", Create: &ledger.Agent{UID: "a", Root: "a", CreatedAt: time.Now()}, Events: []ledger.Event{{Type: "Started", At: time.Now(), Data: []byte("{}")}}}
	invalid := batch
	invalid.Create = nil
	if err := m.Timed(store).Append(t.Context(), invalid); err == nil || errors.Is(err, ledger.ErrFenced) {
		t.Fatalf("events without an agent: %v", err)
	}
	batch.Fence = old
	if err := m.Timed(store).Append(t.Context(), batch); !errors.Is(err, ledger.ErrFenced) {
		t.Fatalf("an append in an old epoch: %v", err)
	}
	if n := metricValue(t, registry, "nestor_ledger_fenced_appends_total"); n != 1 {
		t.Errorf("%g appends were fenced, want 1", n)
	}
}

func TestVerdictsOfManyPoliciesAreBounded(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	var verdicts []agent.Verdict
	for i := range 600 {
		verdicts = append(verdicts, agent.Verdict{Policy: fmt.Sprintf("team/p%d", i), Rule: "writes", Action: agent.PolicyDeny, Audit: i == 0})
	}
	judged := agent.Event{Fact: agent.Judged{Policed: true, Calls: []agent.JudgedCall{{Call: "c", Verdicts: verdicts}}}}
	m.Recorded(engine.Change{Agent: ledger.Agent{UID: "a"}, Events: []agent.Event{judged}})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "nestor_policy_verdicts_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range metric.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			series[labels["policy"]+" "+labels["rule"]+" "+labels["verdict"]] = metric.GetCounter().GetValue()
		}
	}
	const others = "other" + " other Deny"
	if len(series) != 501 || series[others] != 100 || series["team/p0 writes AuditDeny"] != 1 || series["team/p1 writes Deny"] != 1 {
		t.Errorf("%d series, %v of others", len(series), series[others])
	}
}
