// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"net"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
)

// emitModelCall emits the span of a model call. Each attempt has its own span: it costs tokens, and minutes may pass
// between attempts.
func (t *Telemetry) emitModelCall(c engine.Change, call engine.CompletedCall) {
	t.instruments.modelCalled(call)
	effect, ok := call.Effect.(agent.CallModel)
	if !ok {
		return
	}
	state := c.Before
	if state.Phase == agent.PhaseNew {
		state = c.After
	}
	state.Turn = call.Turn // the orchestrator may be in a later turn
	place := agentPlace(call.Agent, state).below(call.Agent, effect.Key())
	if !t.sampled(place.trace) { // content may be large: do not encode it for nothing
		return
	}
	attributes := append(agentAttributes(call.Agent), semconv.GenAIOperationNameChat, providerAt(call.Server),
		semconv.GenAIRequestModel(call.Request.Model), semconv.GenAIRequestStream(true),
		attribute.String("nestor.provider", call.Provider), attribute.String("nestor.purpose", string(effect.Purpose)), attribute.Int("nestor.attempt", effect.Attempt))
	attributes = append(attributes, serverAttributes(call.Server)...)
	attributes = append(attributes, requestAttributes(call)...)
	attributes = append(attributes, replyAttributes(call)...)
	if t.content {
		attributes = append(attributes, contentAttributes(call)...)
	}
	t.emit(spanData{
		place: place, name: "chat " + call.Request.Model, kind: trace.SpanKindClient,
		start: call.Started, end: call.Started.Add(call.Duration), attributes: attributes, failure: call.Failure,
	})
}

// requestAttributes returns the attributes of the request, without its content.
func requestAttributes(call engine.CompletedCall) []attribute.KeyValue {
	var attributes []attribute.KeyValue
	if n := call.Request.MaxOutputTokens; n > 0 {
		attributes = append(attributes, semconv.GenAIRequestMaxTokens(int(n)))
	}
	if temperature := call.Request.Temperature; temperature != nil {
		attributes = append(attributes, semconv.GenAIRequestTemperature(*temperature))
	}
	return attributes
}

// replyAttributes returns the attributes of the reply, without its content. What the provider did not report is
// omitted.
func replyAttributes(call engine.CompletedCall) []attribute.KeyValue {
	reply := call.Reply
	if reply == nil {
		return nil
	}
	var attributes []attribute.KeyValue
	if reply.Model != "" {
		attributes = append(attributes, semconv.GenAIResponseModel(reply.Model))
	}
	if reply.ID != "" {
		attributes = append(attributes, semconv.GenAIResponseID(reply.ID))
	}
	if reply.FinishReason != "" {
		attributes = append(attributes, semconv.GenAIResponseFinishReasons(string(reply.FinishReason)))
	}
	if u := reply.Usage; u != nil {
		attributes = append(attributes, semconv.GenAIUsageInputTokens(int(u.PromptTokens)), semconv.GenAIUsageOutputTokens(int(u.CompletionTokens)),
			semconv.GenAIUsageCacheReadInputTokens(int(u.CachedTokens)))
	}
	if cost := call.Usage.CostMicros; cost != nil {
		attributes = append(attributes, attribute.Int64("nestor.usage.cost_micros", *cost))
	}
	return attributes
}

func serverAttributes(host string) []attribute.KeyValue {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return []attribute.KeyValue{semconv.ServerAddress(host)}
	}
	number, _ := strconv.Atoi(port)
	return []attribute.KeyValue{semconv.ServerAddress(name), semconv.ServerPort(number)}
}

// providers maps domains to the provider names of the conventions.
var providers = []struct {
	domain string
	name   attribute.KeyValue
}{
	{"openai.azure.com", semconv.GenAIProviderNameAzureAIOpenAI},
	{"azure.com", semconv.GenAIProviderNameAzureAIInference},
	{"anthropic.com", semconv.GenAIProviderNameAnthropic},
	{"amazonaws.com", semconv.GenAIProviderNameAWSBedrock},
	{"generativelanguage.googleapis.com", semconv.GenAIProviderNameGCPGemini},
	{"aiplatform.googleapis.com", semconv.GenAIProviderNameGCPVertexAI},
	{"cohere.com", semconv.GenAIProviderNameCohere},
	{"deepseek.com", semconv.GenAIProviderNameDeepseek},
	{"groq.com", semconv.GenAIProviderNameGroq},
	{"mistral.ai", semconv.GenAIProviderNameMistralAI},
	{"perplexity.ai", semconv.GenAIProviderNamePerplexity},
	{"x.ai", semconv.GenAIProviderNameXAI},
}

// providerAt returns the provider name of the conventions for a host. They require "openai" for others that use its
// protocol; server.address distinguishes those.
func providerAt(host string) attribute.KeyValue {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	for _, p := range providers {
		if strings.HasSuffix("."+host, "."+p.domain) {
			return p.name
		}
	}
	return semconv.GenAIProviderNameOpenAI
}
