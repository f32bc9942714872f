// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
)

// world applies events to the core and reports them to the telemetry, as the engine does.
type world struct {
	t         *testing.T
	telemetry *Telemetry
	spans     *tracetest.SpanRecorder
	numbers   *sdkmetric.ManualReader
	agents    map[string]*testAgent
	clock     agent.Time
}

type testAgent struct {
	*world

	record ledger.Agent
	state  agent.State
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, agents: map[string]*testAgent{}, clock: 1000}
	w.restart()
	return w
}

// restart simulates another process: the same agents, and nothing else.
func (w *world) restart() {
	w.t.Helper()
	w.spans, w.numbers = tracetest.NewSpanRecorder(), sdkmetric.NewManualReader()
	w.telemetry = &Telemetry{sampler: sdktrace.AlwaysSample(), propagates: true}
	w.telemetry.useTraces(w.spans, resource.Empty())
	if err := w.telemetry.useMetrics(w.numbers, resource.Empty()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) start(record ledger.Agent, config agent.Config) *testAgent {
	w.t.Helper()
	config.Name, config.MaxDepth, config.Depth = record.Name, 3, record.Depth
	config.Role.Name = record.Role
	p := &testAgent{world: w, record: record}
	w.agents[record.UID] = p
	p.apply(agent.Started{Config: config})
	return p
}

// below starts the sub-agent that an agent has requested.
func (p *testAgent) below(name, role string, config agent.Config) *testAgent {
	p.t.Helper()
	config.Kind, config.Origin = agent.SubAgent, p.state.ChildOrigin(name)
	return p.start(ledger.Agent{UID: "uid-" + name, Kind: "SubAgent", Namespace: "ns", Name: name, Parent: p.record.UID, Root: p.record.Root, Chat: p.record.Chat,
		Role: role, Depth: p.record.Depth + 1, Model: "small"}, config)
}

// apply applies facts in one batch, one second after the previous one.
func (p *testAgent) apply(facts ...agent.Fact) { p.applyWith(nil, facts...) }

func (p *testAgent) applyWith(calls []engine.CompletedCall, facts ...agent.Fact) {
	p.t.Helper()
	c := engine.Change{Agent: p.record, Before: p.state, Calls: calls}
	for _, fact := range facts {
		p.clock += 1000
		e := agent.Event{At: p.clock, Fact: fact}
		p.state, _ = agent.Step(p.state, e)
		c.Events = append(c.Events, e)
	}
	c.After = p.state
	p.telemetry.Recorded(c)
}

// reply delivers the model's reply to the call in flight.
func (p *testAgent) reply(text string, calls ...agent.ToolCall) {
	p.t.Helper()
	if p.state.ModelCall == nil {
		p.t.Fatalf("%s has no model call in flight: its phase is %s", p.record.Name, p.state.Phase)
	}
	request := *p.state.ModelCall
	effect := agent.CallModel{Call: request.ID, Attempt: request.Attempt, Purpose: request.Purpose}
	made := engine.CompletedCall{
		Agent: p.record, Effect: effect, Turn: p.state.Turn, Provider: "ns/default", Status: ledger.StatusSuccess, Started: toTime(p.clock), Duration: time.Second,
		Server: "api.example.com:8443", Request: &model.Request{Model: p.record.Model, Messages: []model.Message{{Role: model.RoleUser, Text: "secret question"}}},
		Reply: &model.Reply{Model: p.record.Model + "-1", Text: text, Usage: &model.Usage{PromptTokens: 7, CompletionTokens: 5}},
	}
	p.applyWith([]engine.CompletedCall{made}, agent.ModelReplied{Call: request.ID, Text: text, Calls: calls})
}

func (w *world) tree() string {
	w.t.Helper()
	return render(w.t, w.spans.Ended())
}

// render formats spans as a tree, and reports duplicate ids.
func render(t *testing.T, spans []sdktrace.ReadOnlySpan) string {
	t.Helper()
	known := map[string]bool{}
	for _, s := range spans {
		id := s.SpanContext().SpanID().String()
		if known[id] {
			t.Errorf("two spans have the id of %s", s.Name())
		}
		known[id] = true
	}
	ordered := slices.Clone(spans)
	slices.SortStableFunc(ordered, func(a, b sdktrace.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	var b strings.Builder
	var under func(parent string, indent string)
	under = func(parent, indent string) {
		for _, s := range ordered {
			above := s.Parent().SpanID().String()
			if !s.Parent().SpanID().IsValid() || !known[above] {
				above = ""
			}
			if above != parent {
				continue
			}
			fmt.Fprintf(&b, "%s%s %ds-%ds%s\n", indent, s.Name(), s.StartTime().Unix(), s.EndTime().Unix(), formatFailure(s))
			under(s.SpanContext().SpanID().String(), indent+"  ")
		}
	}
	under("", "")
	return b.String()
}

func formatFailure(s sdktrace.ReadOnlySpan) string {
	if value, ok := value(s, "error.type"); ok {
		return " !" + value.AsString()
	}
	return ""
}

func value(s sdktrace.ReadOnlySpan, key attribute.Key) (attribute.Value, bool) {
	for _, kv := range s.Attributes() {
		if kv.Key == key {
			return kv.Value, true
		}
	}
	return attribute.Value{}, false
}

func (w *world) find(name string) sdktrace.ReadOnlySpan {
	w.t.Helper()
	var found sdktrace.ReadOnlySpan
	for _, s := range w.spans.Ended() {
		if s.Name() != name {
			continue
		}
		if found != nil {
			w.t.Fatalf("there are several spans %q", name)
		}
		found = s
	}
	if found == nil {
		w.t.Fatalf("there is no span %q in:\n%s", name, w.tree())
	}
	return found
}
