// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/metrics"
)

func TestMetricsCountWhatAgentsDo(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	registry.MustRegister(metrics.Engine{Stats: func() engine.Stats { return engine.Stats{Agents: 3, InFlight: 2} }})
	record := ledger.Agent{Kind: "SubAgent"}
	begun := agent.Replay(agent.State{}, []agent.Event{{At: 1, Fact: agent.Started{Config: agent.Config{Kind: agent.SubAgent, Name: "a"}}}})
	cancelled := agent.Replay(begun, []agent.Event{{At: 2, Fact: agent.Cancelled{}}})
	m.Changed(engine.Change{Agent: record, After: begun})
	m.Changed(engine.Change{Agent: record, Before: begun, After: cancelled})
	m.Changed(engine.Change{Agent: record, Before: cancelled, After: cancelled})
	m.Called(engine.Call{Provider: "ns/default", Status: ledger.StatusSuccess, Took: time.Second, Usage: agent.Usage{PromptTokens: 7, CompletionTokens: 5}})
	m.Called(engine.Call{Tool: "calculator", Status: ledger.StatusFailed, Took: time.Second})
	m.Waiting("ns/default", 4)
	m.Granted("ns/default", time.Second)
	m.BackedOff("ns/default", time.Unix(100, 0))
	m.Trouble()
	want := `
# HELP nestor_agents_ended_total Agents that ended, by kind and by how: Success or the kind of error.
# TYPE nestor_agents_ended_total counter
nestor_agents_ended_total{kind="SubAgent",outcome="Cancelled"} 1
# HELP nestor_agents_in_memory Agents that the engine holds in memory; those that only wait are not kept.
# TYPE nestor_agents_in_memory gauge
nestor_agents_in_memory 3
# HELP nestor_agents_started_total Agents that began, by kind.
# TYPE nestor_agents_started_total counter
nestor_agents_started_total{kind="SubAgent"} 1
# HELP nestor_ledger_failures_total Writes that the ledger refused or could not take; agents wait and try again.
# TYPE nestor_ledger_failures_total counter
nestor_ledger_failures_total 1
# HELP nestor_model_calls_total Model calls that were made, by provider and status.
# TYPE nestor_model_calls_total counter
nestor_model_calls_total{provider="ns/default",status="Success"} 1
# HELP nestor_model_queue Model calls that wait for their turn now.
# TYPE nestor_model_queue gauge
nestor_model_queue{provider="ns/default"} 4
# HELP nestor_model_tokens_total Tokens that model calls used, by provider and type: prompt or completion.
# TYPE nestor_model_tokens_total counter
nestor_model_tokens_total{provider="ns/default",type="completion"} 5
nestor_model_tokens_total{provider="ns/default",type="prompt"} 7
# HELP nestor_tool_calls_total Tool calls that were made, by status.
# TYPE nestor_tool_calls_total counter
nestor_tool_calls_total{status="Failed"} 1
`
	err = testutil.GatherAndCompare(registry, strings.NewReader(want), "nestor_agents_ended_total", "nestor_agents_in_memory", "nestor_agents_started_total",
		"nestor_ledger_failures_total", "nestor_model_calls_total", "nestor_model_queue", "nestor_model_tokens_total", "nestor_tool_calls_total")
	if err != nil {
		t.Error(err)
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

// The page lists every metric, and no other.
func TestThePageListsTheMetrics(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `(nestor_[a-z_]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		listed[match[1]] = true
	}
	known := &names{known: map[string]bool{}}
	if _, err := metrics.New(known); err != nil {
		t.Fatal(err)
	}
	if err := known.Register(metrics.Engine{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(known.known, listed); diff != "" {
		t.Errorf("docs/reference/metrics.md lists other metrics than there are (-there are +listed):\n%s", diff)
	}
}

// names is a registry that only remembers what metrics are called.
type names struct {
	prometheus.Registerer

	known map[string]bool
}

func (n *names) Register(c prometheus.Collector) error {
	descriptions := make(chan *prometheus.Desc, 16)
	c.Describe(descriptions)
	close(descriptions)
	for d := range descriptions {
		n.known[regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	return nil
}
