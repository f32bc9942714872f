// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"crypto/sha256"
	"strconv"

	"go.opentelemetry.io/otel/trace"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// place is where a span stands: its own ids and those of the span above it.
type place struct {
	trace  trace.TraceID
	span   trace.SpanID
	parent trace.SpanID // invalid for a root
}

// agentPlace is the place of an agent, or of the turn that an orchestrator's state is in. A tool run has no span of its own: its
// call stands directly below who asked for it.
func agentPlace(record ledger.Agent, s agent.State) place {
	p := place{trace: traceID(record.Root, s.Thread())}
	switch s.Config.Kind {
	case agent.Orchestrator:
		root := spanID(record.UID, "thread/"+s.Thread())
		if s.Turn.Thread == "" || !s.Turn.Follows {
			p.span = root
			return p
		}
		p.span, p.parent = spanID(record.UID, "turn/"+strconv.Itoa(s.Turn.Number)), root
	case agent.ToolRun:
		p.span = askedBy(record, s.Config.Origin)
	default:
		p.span, p.parent = spanID(record.UID, "agent"), askedBy(record, s.Config.Origin)
	}
	return p
}

// below is the place of something that an agent does, by a key that is unique for the agent.
func (p place) below(record ledger.Agent, key string) place {
	return place{trace: p.trace, span: spanID(record.UID, key), parent: p.span}
}

// askedBy is the span of the call that asked for an agent, invalid if nobody did.
func askedBy(record ledger.Agent, origin agent.Origin) trace.SpanID {
	if record.Parent == "" || origin.Call == "" {
		return trace.SpanID{}
	}
	return spanID(record.Parent, callKey(origin.Request, origin.Call))
}

// callKey is the key of a tool call, whoever answers it.
func callKey(request, call string) string { return agent.RunTool{Request: request, Call: call}.Key() }

func traceID(root, thread string) trace.TraceID {
	digest := sha256.Sum256([]byte("trace\x00" + root + "\x00" + thread))
	return trace.TraceID(digest[:16])
}

func spanID(uid, key string) trace.SpanID {
	digest := sha256.Sum256([]byte("span\x00" + uid + "\x00" + key))
	return trace.SpanID(digest[:8])
}

// context returns a context in which a span that starts has this place, in a trace that is told.
func (p place) context() context.Context {
	ctx := context.WithValue(context.Background(), placeKey{}, p)
	if !p.parent.IsValid() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, p.spanContext(p.parent, true))
}

func (p place) spanContext(span trace.SpanID, sampled bool) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: p.trace, SpanID: span, TraceFlags: trace.TraceFlags(0).WithSampled(sampled), Remote: true})
}

type placeKey struct{}

// identities gives spans the ids of the place that their context names.
type identities struct{}

// NewIDs implements sdktrace.IDGenerator.
func (identities) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	p, _ := ctx.Value(placeKey{}).(place)
	return p.trace, p.span
}

// NewSpanID implements sdktrace.IDGenerator.
func (identities) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	p, _ := ctx.Value(placeKey{}).(place)
	return p.span
}
