// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// CallContext adds the trace of a model or tool call to its context. The ids are derived before the call, although the
// span is emitted at its end.
func (t *Telemetry) CallContext(ctx context.Context, record ledger.Agent, s agent.State, e agent.Effect) context.Context {
	if t == nil || !t.propagates {
		return ctx
	}
	switch e.(type) {
	case agent.CallModel, agent.RunTool:
	default:
		return ctx
	}
	p := agentPlace(record, s).below(record, e.Key())
	return trace.ContextWithSpanContext(ctx, p.spanContext(p.span, t.sampled(p.trace)))
}

// propagatingTransport adds the W3C trace headers of the context to requests.
type propagatingTransport struct{ next http.RoundTripper }

func (p propagatingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !trace.SpanContextFromContext(req.Context()).IsValid() {
		return p.next.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	propagation.TraceContext{}.Inject(req.Context(), propagation.HeaderCarrier(req.Header))
	return p.next.RoundTrip(req)
}
