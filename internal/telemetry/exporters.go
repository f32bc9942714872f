// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The OTLP protocols, as OTEL_EXPORTER_OTLP_PROTOCOL names them. OpenTelemetry's autoexport package would choose
// between the exporters too, but it links those of other signals and formats with them.
const (
	protocolHTTP = "http/protobuf"
	protocolGRPC = "grpc"
)

func (env environment) protocol(signal string) (string, error) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch value := env(name); value {
		case "":
		case protocolHTTP, protocolGRPC:
			return value, nil
		default:
			return "", fmt.Errorf("%s must be %s or %s, not %q", name, protocolHTTP, protocolGRPC, value)
		}
	}
	return protocolHTTP, nil
}

func newSpanExporter(ctx context.Context, env environment) (sdktrace.SpanExporter, error) {
	protocol, err := env.protocol(traces)
	if err != nil {
		return nil, err
	}
	if protocol == protocolGRPC {
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}

func newMetricReader(ctx context.Context, env environment) (sdkmetric.Reader, error) {
	protocol, err := env.protocol(metrics)
	if err != nil {
		return nil, err
	}
	var exporter sdkmetric.Exporter
	if protocol == protocolGRPC {
		exporter, err = otlpmetricgrpc.New(ctx)
	} else {
		exporter, err = otlpmetrichttp.New(ctx)
	}
	if err != nil {
		return nil, err
	}
	return sdkmetric.NewPeriodicReader(exporter), nil
}
