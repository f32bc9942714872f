// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
)

// emitToolCall emits the span of a tool call that was answered. Calls that the engine ran have exact times; all others,
// such as delegations and questions, last from the reply that contains them to their answer.
func (t *Telemetry) emitToolCall(s step, call agent.BatchCall, run engine.CompletedCall, replied time.Time) {
	start, end, failure := toTime(call.At), toTime(s.at), ""
	if !run.Started.IsZero() {
		start, end, failure = run.Started, run.Started.Add(run.Duration), run.Failure
	} else if late := replied.Sub(start); late > 0 && late < time.Millisecond { // event times have milliseconds, and no call starts before its reply
		start = replied
		if start.After(end) {
			end = start
		}
	}
	if failure == "" && call.Outcome != agent.ToolSucceeded {
		failure = string(call.Outcome)
	}
	t.instruments.toolCalled(s.after.Config, call.Tool, failure, end.Sub(start))
	attributes := append(agentAttributes(s.agent), semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(call.Tool), semconv.GenAIToolCallID(call.ID),
		semconv.GenAIToolType("function"))
	if t.content {
		attributes = append(attributes, semconv.GenAIToolCallArgumentsKey.String(call.Arguments), semconv.GenAIToolCallResultKey.String(call.Answer))
	}
	t.emit(spanData{
		place: agentPlace(s.agent, s.before).below(s.agent, callKey(call.ModelCall, call.ID)), name: "execute_tool " + call.Tool,
		kind: trace.SpanKindInternal, start: start, end: end, attributes: attributes, failure: failure, message: call.Answer,
	})
}
