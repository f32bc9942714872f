// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

const scope = "github.com/nestor-dev/nestor"

type Options struct {
	// Service is the service name unless OTEL_SERVICE_NAME is set, and Version its version.
	Service, Version string
	// Log receives export errors, at a limited rate.
	Log logr.Logger
	// Getenv reads the environment; nil means os.Getenv. The exporters always use os.Getenv.
	Getenv func(string) string
}

// Telemetry emits traces and metrics. All methods of a nil Telemetry are no-ops.
type Telemetry struct {
	tracer      trace.Tracer // nil: no traces
	sampler     sdktrace.Sampler
	instruments *instruments // nil: no metrics
	content     bool
	propagates  bool
	log         logr.Logger
	shutdown    []func(context.Context) error
}

// Start reads the environment. It returns nil if telemetry is disabled.
func Start(ctx context.Context, options Options) (*Telemetry, error) {
	if options.Getenv == nil {
		options.Getenv = os.Getenv
	}
	env := environment(options.Getenv)
	tracesEnabled, err := env.enabled(traces)
	if err != nil {
		return nil, err
	}
	metricsEnabled, err := env.enabled(metrics)
	if err != nil || !tracesEnabled && !metricsEnabled {
		return nil, err
	}
	otel.SetErrorHandler(&rateLimitedLog{log: options.Log, every: time.Minute, now: time.Now})
	res, err := newResource(ctx, options)
	if err != nil {
		return nil, err
	}
	t := &Telemetry{log: options.Log}
	if tracesEnabled {
		err = t.startTraces(ctx, env, res)
	}
	if err == nil && metricsEnabled {
		err = t.startMetrics(ctx, env, res)
	}
	if err != nil {
		return nil, errors.Join(err, t.stop(ctx))
	}
	return t, nil
}

func (t *Telemetry) startTraces(ctx context.Context, env environment, res *resource.Resource) error {
	var err error
	if t.sampler, err = env.sampler(); err != nil {
		return err
	}
	if t.content, err = env.capturesContent(); err != nil {
		return err
	}
	exporter, err := newSpanExporter(ctx, env)
	if err != nil {
		return fmt.Errorf("set up the export of traces (OTEL_EXPORTER_OTLP_*): %w", err)
	}
	t.useTraces(sdktrace.NewBatchSpanProcessor(exporter), res)
	t.propagates = env.propagates()
	return nil
}

func (t *Telemetry) useTraces(processor sdktrace.SpanProcessor, res *resource.Resource) {
	provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(t.sampler), sdktrace.WithIDGenerator(identities{}),
		sdktrace.WithResource(res), sdktrace.WithSpanProcessor(processor))
	t.tracer = provider.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL))
	t.shutdown = append(t.shutdown, provider.Shutdown)
}

func (t *Telemetry) startMetrics(ctx context.Context, env environment, res *resource.Resource) error {
	reader, err := newMetricReader(ctx, env)
	if err != nil {
		return fmt.Errorf("set up the export of metrics (OTEL_EXPORTER_OTLP_*): %w", err)
	}
	return t.useMetrics(reader, res)
}

func (t *Telemetry) useMetrics(reader sdkmetric.Reader, res *resource.Resource) error {
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(res))
	t.shutdown = append(t.shutdown, provider.Shutdown)
	var err error
	t.instruments, err = newInstruments(provider.Meter(scope))
	return err
}

// newResource returns the resource. Attributes from the environment take precedence.
func newResource(ctx context.Context, options Options) (*resource.Resource, error) {
	attributes := []attribute.KeyValue{semconv.ServiceName(options.Service), semconv.ServiceVersion(options.Version)}
	if host, err := os.Hostname(); err == nil {
		attributes = append(attributes, semconv.ServiceInstanceID(host))
	}
	if namespace := options.Getenv("POD_NAMESPACE"); namespace != "" {
		attributes = append(attributes, semconv.K8SNamespaceName(namespace))
	}
	res, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attributes...), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return res, nil
}

// shutdownTimeout bounds the final export on shutdown.
const shutdownTimeout = 5 * time.Second

// Shutdown exports the remaining data. A collector that does not accept it in time is not an error.
func (t *Telemetry) Shutdown(ctx context.Context) {
	if t == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	if err := t.stop(limited); err != nil {
		t.log.Info("Telemetry was not sent completely", "error", err.Error())
	}
}

func (t *Telemetry) stop(ctx context.Context) error {
	var errs []error
	for _, shutdown := range t.shutdown {
		errs = append(errs, shutdown(ctx))
	}
	return errors.Join(errs...)
}

// Transport propagates traces in requests. A nil next means a new transport.
func (t *Telemetry) Transport(next http.RoundTripper) http.RoundTripper {
	if t == nil || !t.propagates {
		return next
	}
	if next == nil {
		next = http.DefaultTransport.(*http.Transport).Clone()
	}
	return propagatingTransport{next}
}
