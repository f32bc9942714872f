// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// Recorded emits spans for everything that has ended with a recorded change. It does not block: spans are dropped if
// they are not exported in time.
func (t *Telemetry) Recorded(c engine.Change) {
	if t == nil {
		return
	}
	calls, replied := map[string]engine.CompletedCall{}, time.Time{}
	for _, call := range c.Calls {
		if _, ok := call.Effect.(agent.CallModel); ok {
			t.emitModelCall(c, call)
			replied = call.Started.Add(call.Duration)
			continue
		}
		calls[call.Effect.Key()] = call
	}
	c.Steps(func(before agent.State, e agent.Event, after agent.State) {
		step := step{agent: c.Agent, before: before, at: e.At, after: after}
		for _, call := range step.endedCalls() {
			t.emitToolCall(step, call, calls[callKey(call.ModelCall, call.ID)], replied)
		}
		for _, call := range step.decidedCalls() {
			t.emitApproval(step, call)
		}
	})
	for _, run := range c.Runs() {
		if run.State.Config.Kind != agent.ToolRun { // its call has a span
			t.emitAgent(c.Agent, run)
		}
	}
}

type spanData struct {
	place      spanPlace
	name       string
	kind       trace.SpanKind
	start, end time.Time
	attributes []attribute.KeyValue
	// failure is the kind of error, and message the error message, which may be content.
	failure, message string
}

func (t *Telemetry) emit(s spanData) {
	if !t.sampled(s.place.trace) {
		return
	}
	_, span := t.tracer.Start(s.place.context(), s.name, trace.WithTimestamp(s.start), trace.WithSpanKind(s.kind), trace.WithAttributes(s.attributes...))
	if s.failure != "" {
		description := ""
		if t.content {
			description = s.message
		}
		span.SetAttributes(semconv.ErrorTypeKey.String(s.failure))
		span.SetStatus(codes.Error, description)
	}
	span.End(trace.WithTimestamp(s.end))
}

func (t *Telemetry) sampled(id trace.TraceID) bool {
	return t.tracer != nil && t.sampler.ShouldSample(sdktrace.SamplingParameters{TraceID: id}).Decision == sdktrace.RecordAndSample
}

func agentAttributes(record ledger.Agent) []attribute.KeyValue {
	attributes := []attribute.KeyValue{
		semconv.GenAIAgentName(record.Role), semconv.GenAIAgentID(record.UID),
		attribute.String("nestor.namespace", record.Namespace), attribute.String("nestor.agent", record.Name), attribute.Int("nestor.depth", record.Depth),
	}
	if record.Chat != "" {
		attributes = append(attributes, semconv.GenAIConversationID(record.Root), attribute.String("nestor.chat", record.Chat))
	}
	return attributes
}

func toTime(t agent.Time) time.Time { return time.UnixMilli(int64(t)) }
