// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// The bounds that the conventions recommend.
var (
	secondBounds = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokenBounds  = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
)

// instruments are the metrics of the conventions.
type instruments struct {
	modelSeconds, agentSeconds, toolSeconds metric.Float64Histogram
	tokens                                  metric.Int64Histogram
}

func newInstruments(meter metric.Meter) (*instruments, error) {
	var i instruments
	var errs [4]error
	seconds := []metric.Float64HistogramOption{metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(secondBounds...)}
	i.modelSeconds, errs[0] = meter.Float64Histogram("gen_ai.client.operation.duration", append(seconds, metric.WithDescription("Duration of model calls."))...)
	i.agentSeconds, errs[1] = meter.Float64Histogram("gen_ai.invoke_agent.duration", append(seconds, metric.WithDescription("Duration of sub-agents and turns of orchestrators."))...)
	i.toolSeconds, errs[2] = meter.Float64Histogram("gen_ai.execute_tool.duration", append(seconds, metric.WithDescription("Duration of tool calls."))...)
	i.tokens, errs[3] = meter.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"),
		metric.WithExplicitBucketBoundaries(tokenBounds...), metric.WithDescription("Tokens used by model calls."))
	return &i, errors.Join(errs[:]...)
}

func (i *instruments) modelCalled(call engine.CompletedCall) {
	if i == nil {
		return
	}
	attributes := append(serverAttributes(call.Server), semconv.GenAIOperationNameChat, providerAt(call.Server),
		semconv.GenAIRequestModel(call.Request.Model))
	if call.Reply != nil && call.Reply.Model != "" {
		attributes = append(attributes, semconv.GenAIResponseModel(call.Reply.Model))
	}
	if call.Reply != nil && call.Reply.Usage != nil {
		i.recordTokens(call.Reply.Usage.PromptTokens, "input", attributes)
		i.recordTokens(call.Reply.Usage.CompletionTokens, "output", attributes)
	}
	i.record(i.modelSeconds, call.Duration, call.Failure, attributes...)
}

func (i *instruments) recordTokens(tokens int64, kind string, attributes []attribute.KeyValue) {
	set := attribute.NewSet(append([]attribute.KeyValue{semconv.GenAITokenTypeKey.String(kind)}, attributes...)...)
	i.tokens.Record(context.Background(), tokens, metric.WithAttributeSet(set))
}

func (i *instruments) agentInvoked(record ledger.Agent, failure string, took time.Duration) {
	if i == nil {
		return
	}
	i.record(i.agentSeconds, took, failure, semconv.GenAIOperationNameInvokeAgent, semconv.GenAIAgentName(record.Role))
}

// otherTool replaces names that a model made up, which are unbounded.
const otherTool = "_OTHER"

func (i *instruments) toolCalled(config agent.Config, tool, failure string, took time.Duration) {
	if i == nil {
		return
	}
	if !config.Offers(tool) {
		tool = otherTool
	}
	i.record(i.toolSeconds, took, failure, semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(tool))
}

func (i *instruments) record(histogram metric.Float64Histogram, took time.Duration, failure string, attributes ...attribute.KeyValue) {
	if failure != "" {
		attributes = append(attributes, semconv.ErrorTypeKey.String(failure))
	}
	histogram.Record(context.Background(), took.Seconds(), metric.WithAttributes(attributes...))
}
