// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
)

func env(pairs ...string) environment {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestNothingIsSentWithoutEndpoint(t *testing.T) {
	for _, e := range []environment{
		env(),
		env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x", "OTEL_SDK_DISABLED", "True"),
		env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x", "OTEL_TRACES_EXPORTER", "none", "OTEL_METRICS_EXPORTER", "none"),
	} {
		tells, err := Start(t.Context(), Options{Getenv: e})
		if err != nil || tells != nil {
			t.Errorf("telemetry is %v, %v, want none", tells, err)
		}
	}
	var tells *Telemetry
	tells.Recorded(engine.Change{})
	if ctx := tells.CallContext(t.Context(), engine.Change{}.Agent, agent.State{}, agent.CallModel{}); trace.SpanContextFromContext(ctx).IsValid() {
		t.Error("disabled telemetry has a trace")
	}
	if tells.Transport(nil) != nil {
		t.Error("disabled telemetry changes requests")
	}
	tells.Shutdown(t.Context())
}

func TestInvalidSettingsAreRefused(t *testing.T) {
	for hint, e := range map[string]environment{
		"OTEL_TRACES_EXPORTER must be":    env("OTEL_TRACES_EXPORTER", "zipkin"),
		"OTEL_TRACES_SAMPLER must be":     env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x", "OTEL_TRACES_SAMPLER", "jaeger_remote"),
		"OTEL_TRACES_SAMPLER_ARG must be": env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x", "OTEL_TRACES_SAMPLER", "traceidratio", "OTEL_TRACES_SAMPLER_ARG", "10"),
		"CONTENT must be":                 env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "EVENT_ONLY"),
	} {
		if _, err := Start(t.Context(), Options{Getenv: e}); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%v, want an error with %q", err, hint)
		}
	}
}

// The exporters read the environment of the process.
func TestInvalidProtocolIsRefused(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:1")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	for _, off := range []string{"OTEL_METRICS_EXPORTER", "OTEL_TRACES_EXPORTER"} {
		t.Run(off, func(t *testing.T) {
			t.Setenv(off, "none")
			_, err := Start(t.Context(), Options{})
			if err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_") || !strings.Contains(err.Error(), "http/protobuf") {
				t.Errorf("%v, want an error that names the variables and the protocols", err)
			}
		})
	}
}

// A trace is emitted as a whole or not at all, whichever operator decides.
func TestSamplingKeepsTracesWhole(t *testing.T) {
	sampler, err := env("OTEL_TRACES_SAMPLER", "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG", "0.5").sampler()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.telemetry = &Telemetry{sampler: sampler}
	w.telemetry.useTraces(w.spans, resource.Empty())
	top := w.start(chat, orchestrator)
	messages := strings.Split("abcdefghijklmnopqrstuvwxyz", "")
	for _, message := range messages {
		top.apply(agent.MessageArrived{Message: message, Text: "hello"})
		top.reply("hello")
	}
	spans := map[trace.TraceID]int{}
	for _, s := range w.spans.Ended() {
		spans[s.SpanContext().TraceID()]++
	}
	for id, n := range spans {
		if n != 2 { // the turn and its model call
			t.Errorf("%d spans of the trace %s are emitted", n, id)
		}
	}
	if emitted, dropped := len(spans), len(messages)-len(spans); emitted < 5 || dropped < 5 {
		t.Errorf("%d traces are emitted and %d are not", emitted, dropped)
	}
}

// An unavailable collector must not block anything, and is logged once.
func TestUnavailableCollector(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	server.Close()
	logged := make(chan string, 16)
	log := funcr.New(func(_, args string) { logged <- args }, funcr.Options{})
	tells, err := Start(t.Context(), Options{Service: "test", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.telemetry = tells
	standalone(w).reply("done")
	began := time.Now()
	tells.Shutdown(t.Context())
	if took := time.Since(began); took > 2*shutdownTimeout {
		t.Errorf("the shutdown took %s", took)
	}
	for !strings.Contains(<-logged, "Telemetry was not sent completely") { // other messages come before it
	}
}

func TestErrorsAreLoggedRarely(t *testing.T) {
	var logged []string
	now := time.Unix(0, 0)
	s := &rateLimitedLog{log: funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{}), every: time.Minute, now: func() time.Time { return now }}
	for range 100 {
		s.Handle(errors.New("refused"))
		now = now.Add(time.Second)
	}
	if len(logged) != 2 || !strings.Contains(logged[1], `"errorsNotLogged"=59`) {
		t.Errorf("logged: %q", logged)
	}
}
