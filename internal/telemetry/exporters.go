// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

func newTraceExporter(ctx context.Context, env environment) (sdktrace.SpanExporter, error) {
	grpc, err := env.grpc(traces)
	switch {
	case err != nil:
		return nil, err
	case grpc:
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}

func newMetricExporter(ctx context.Context, env environment) (sdkmetric.Exporter, error) {
	grpc, err := env.grpc(metrics)
	switch {
	case err != nil:
		return nil, err
	case grpc:
		return otlpmetricgrpc.New(ctx)
	}
	return otlpmetrichttp.New(ctx)
}

// seldom logs errors of the SDK, but not each of them: a collector that is down must not fill the log.
type seldom struct {
	log   logr.Logger
	every time.Duration
	now   func() time.Time

	mu     sync.Mutex
	last   time.Time
	silent int
}

// Handle implements otel.ErrorHandler.
func (s *seldom) Handle(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if !s.last.IsZero() && now.Sub(s.last) < s.every {
		s.silent++
		return
	}
	s.log.Info("Telemetry cannot be sent; agents are not affected", "error", err.Error(), "errorsNotLogged", s.silent)
	s.last, s.silent = now, 0
}
