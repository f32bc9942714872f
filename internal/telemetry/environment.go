// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"strconv"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// environment reads the variables of OpenTelemetry. The SDK and its exporters read some themselves: headers, timeouts,
// limits, batches, certificates.
type environment func(name string) string

// The signals, as they appear in variable names.
const (
	traces  = "TRACES"
	metrics = "METRICS"
)

// enabled reports whether a signal is enabled: it has an endpoint, and it is not turned off. Of OpenTelemetry's
// exporters only otlp is allowed: console would mix with the log, and prometheus would open a port that no chart and no
// NetworkPolicy covers.
func (env environment) enabled(signal string) (bool, error) {
	if env.isTrue("OTEL_SDK_DISABLED") {
		return false, nil
	}
	name := "OTEL_" + signal + "_EXPORTER"
	switch value := env(name); value {
	case "", "otlp":
	case "none":
		return false, nil
	default:
		return false, fmt.Errorf("%s must be otlp or none, not %q", name, value)
	}
	return env("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != "", nil
}

// sampler returns the sampler. It decides about whole traces: every span of a trace has the same trace id, so that all
// operators that handle a trace agree. There is no parent to consult, since the trace starts here.
func (env environment) sampler() (sdktrace.Sampler, error) {
	const name, argument = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
	switch value := strings.TrimPrefix(env(name), "parentbased_"); value {
	case "", "always_on":
		return sdktrace.AlwaysSample(), nil
	case "always_off":
		return sdktrace.NeverSample(), nil
	case "traceidratio":
		if env(argument) == "" {
			return sdktrace.AlwaysSample(), nil
		}
		ratio, err := strconv.ParseFloat(env(argument), 64)
		if err != nil || ratio < 0 || ratio > 1 {
			return nil, fmt.Errorf("%s must be a number from 0 to 1, not %q", argument, env(argument))
		}
		return sdktrace.TraceIDRatioBased(ratio), nil
	default:
		return nil, fmt.Errorf("%s must be always_on, always_off or traceidratio, with or without parentbased_, not %q", name, env(name))
	}
}

// capturesContent reports whether prompts, replies, arguments and results may be emitted.
func (env environment) capturesContent() (bool, error) {
	const name = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
	switch value := strings.ToLower(env(name)); value {
	case "", "false", "no_content":
		return false, nil
	case "true", "span_only", "span_and_event":
		return true, nil
	default:
		return false, fmt.Errorf("%s must be NO_CONTENT or SPAN_ONLY, not %q", name, env(name))
	}
}

func (env environment) propagates() bool {
	value := env("OTEL_PROPAGATORS")
	return value == "" || strings.Contains(value, "tracecontext")
}

func (env environment) isTrue(name string) bool { return strings.EqualFold(env(name), "true") }
