// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// waitForApproval is an operation that the conventions do not define: the wait for a person's decision about a tool
// call.
const waitForApproval = "await_approval"

// emitAgent emits the span of a sub-agent, or of an orchestrator's turn, that has ended.
func (t *Telemetry) emitAgent(record ledger.Agent, run engine.Run) {
	start, end, failure := toTime(run.Since), toTime(run.At), string(run.Kind)
	t.instruments.agentInvoked(record, failure, end.Sub(start))
	attributes := append(agentAttributes(record), semconv.GenAIOperationNameInvokeAgent, semconv.GenAIProviderNameKey.String("nestor"),
		semconv.GenAIRequestModel(record.Model), attribute.Int("nestor.iterations", run.State.Iterations))
	if run.State.Config.Kind == agent.Orchestrator {
		attributes = append(attributes, attribute.Int("nestor.turn", run.State.Turn.Number))
	} else {
		attributes = append(attributes, usageAttributes(run.State.Usage)...)
	}
	t.emit(spanData{
		place: agentPlace(record, run.State), name: "invoke_agent " + record.Role, kind: trace.SpanKindInternal,
		start: start, end: end, attributes: attributes, failure: failure, message: run.Message,
	})
}

// usageAttributes returns the usage of an agent and everything below it, with attributes outside of the conventions:
// backends sum the tokens of the conventions, and must count each token once, at its model call.
func usageAttributes(u budget.Usage) []attribute.KeyValue {
	attributes := []attribute.KeyValue{attribute.Int64("nestor.usage.total_tokens", u.Total()), attribute.Int64("nestor.usage.model_calls", u.ModelCalls)}
	if u.CostMicros != nil {
		attributes = append(attributes, attribute.Int64("nestor.usage.cost_micros", *u.CostMicros))
	}
	return attributes
}

func (t *Telemetry) emitApproval(s step, call agent.BatchCall) {
	above := agentPlace(s.agent, s.before)
	t.emit(spanData{
		place: above.below(s.agent, "approval/"+call.ModelCall+"/"+call.ID), name: waitForApproval + " " + call.Tool, kind: trace.SpanKindInternal,
		start: toTime(call.At), end: toTime(s.at),
		attributes: append(agentAttributes(s.agent), semconv.GenAIOperationNameKey.String(waitForApproval), semconv.GenAIToolName(call.Tool), semconv.GenAIToolCallID(call.ID)),
	})
}
