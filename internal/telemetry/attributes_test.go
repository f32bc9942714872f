// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
)

func (p *testAgent) request() *model.Request { return &model.Request{Model: p.record.Model} }

func standalone(w *world) *testAgent {
	return w.start(ledger.Agent{UID: "uid-task", Kind: "SubAgent", Namespace: "ns", Name: "task", Root: "uid-task", Role: "coder", Depth: 1, Model: "small"},
		agent.Config{Kind: agent.SubAgent, Tools: []agent.Tool{{Name: "read", BuiltIn: true, ReadOnly: true}}})
}

func TestModelCallAttributes(t *testing.T) {
	w := newWorld(t)
	standalone(w).reply("done")
	s := w.find("chat small")
	if s.SpanKind() != trace.SpanKindClient {
		t.Errorf("its kind is %s", s.SpanKind())
	}
	got := map[string]string{}
	for _, kv := range s.Attributes() {
		got[string(kv.Key)] = kv.Value.String()
	}
	want := map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "small", "gen_ai.response.model": "small-1", "gen_ai.request.stream": "true",
		"gen_ai.usage.input_tokens": "7", "gen_ai.usage.output_tokens": "5", "gen_ai.usage.cache_read.input_tokens": "0", "gen_ai.agent.name": "coder", "gen_ai.agent.id": "uid-task",
		"server.address": "api.example.com", "server.port": "8443", "nestor.provider": "ns/default", "nestor.purpose": "Turn", "nestor.attempt": "1",
		"nestor.namespace": "ns", "nestor.agent": "task", "nestor.depth": "1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestContentIsRecordedIfEnabled(t *testing.T) {
	w := newWorld(t)
	w.telemetry.content = true
	sub := standalone(w)
	sub.reply("let me see", agent.ToolCall{ID: "r1", Tool: "read", Arguments: `{"path":"a"}`})
	sub.apply(agent.ToolFinished{Call: "r1", Outcome: agent.ToolSucceeded, Text: "text of a"})
	call := w.find("chat small")
	if input, _ := value(call, "gen_ai.input.messages"); input.AsString() != `[{"role":"user","parts":[{"type":"text","content":"secret question"}]}]` {
		t.Errorf("input: %s", input.AsString())
	}
	if output, _ := value(call, "gen_ai.output.messages"); !strings.Contains(output.AsString(), `"content":"let me see"`) {
		t.Errorf("output: %s", output.AsString())
	}
	tool := w.find("execute_tool read")
	if arguments, _ := value(tool, "gen_ai.tool.call.arguments"); arguments.AsString() != `{"path":"a"}` {
		t.Errorf("arguments: %s", arguments.AsString())
	}
	if result, _ := value(tool, "gen_ai.tool.call.result"); result.AsString() != "text of a" {
		t.Errorf("result: %s", result.AsString())
	}
}

func TestMetricsOfTheConventions(t *testing.T) {
	w := newWorld(t)
	sub := standalone(w)
	sub.reply("", agent.ToolCall{ID: "r1", Tool: "invented by the model", Arguments: `{}`})
	sub.reply("done")
	var collected metricdata.ResourceMetrics
	if err := w.numbers.Collect(context.Background(), &collected); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range collected.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			for _, point := range data.DataPoints {
				got[m.Name+" "+m.Unit] += point.Attributes.Encoded(attribute.DefaultEncoder())
			}
		case metricdata.Histogram[int64]:
			for _, point := range data.DataPoints {
				kind, _ := point.Attributes.Value("gen_ai.token.type")
				got[m.Name+" "+kind.AsString()] = strings.Repeat("*", int(point.Sum))
			}
		}
	}
	model := "gen_ai.operation.name=chat,gen_ai.provider.name=openai,gen_ai.request.model=small,gen_ai.response.model=small-1,server.address=api.example.com,server.port=8443"
	want := map[string]string{
		"gen_ai.client.operation.duration s": model,
		"gen_ai.client.token.usage input":    strings.Repeat("*", 14),
		"gen_ai.client.token.usage output":   strings.Repeat("*", 10),
		"gen_ai.execute_tool.duration s":     "error.type=Failed,gen_ai.operation.name=execute_tool,gen_ai.tool.name=_OTHER",
		"gen_ai.invoke_agent.duration s":     "gen_ai.agent.name=coder,gen_ai.operation.name=invoke_agent",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Servers get the id of the span that is emitted when the call has ended.
func TestTraceIsPropagatedToServers(t *testing.T) {
	w := newWorld(t)
	sub := standalone(w)
	received := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { received <- r.Header.Get("Traceparent") }))
	defer server.Close()
	request := *sub.state.ModelCall
	ctx := w.telemetry.CallContext(t.Context(), sub.record, sub.state, agent.CallModel{Call: request.ID, Attempt: request.Attempt})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Transport: w.telemetry.Transport(nil)}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	sub.reply("done")
	span := w.find("chat small").SpanContext()
	if got, want := <-received, "00-"+span.TraceID().String()+"-"+span.SpanID().String()+"-01"; got != want {
		t.Errorf("propagated %q, want %q", got, want)
	}
}

func TestHostIdentifiesProvider(t *testing.T) {
	for host, want := range map[string]string{
		"api.openai.com": "openai", "api.anthropic.com:443": "anthropic", "mine.openai.azure.com": "azure.ai.openai", "notanthropic.com": "openai",
		"api.x.ai": "x_ai", "model.example.com:8080": "openai", "bedrock-runtime.eu-west-1.amazonaws.com": "aws.bedrock",
	} {
		if got := providerAt(host).Value.AsString(); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}
