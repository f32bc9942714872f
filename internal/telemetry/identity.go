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

type spanPlace struct {
	trace  trace.TraceID
	span   trace.SpanID
	parent trace.SpanID // invalid for a root
}

// agentPlace returns the place of an agent, or of the current turn of an orchestrator. A tool run has no span: its call
// is directly below its parent.
func agentPlace(record ledger.Agent, s agent.State) spanPlace {
	p := spanPlace{trace: traceID(record.Root, s.Thread())}
	switch s.Config.Kind {
	case agent.Orchestrator:
		root := spanID(record.UID, "thread/"+s.Thread())
		if s.Turn.Thread == "" || !s.Turn.Continues {
			p.span = root
			return p
		}
		p.span, p.parent = spanID(record.UID, "turn/"+strconv.Itoa(s.Turn.Number)), root
	case agent.ToolRun:
		p.span = originSpan(record, s.Config.Origin)
	default:
		p.span, p.parent = spanID(record.UID, "agent"), originSpan(record, s.Config.Origin)
	}
	return p
}

// below returns the place of an agent's operation, by a key that is unique for the agent.
func (p spanPlace) below(record ledger.Agent, key string) spanPlace {
	return spanPlace{trace: p.trace, span: spanID(record.UID, key), parent: p.span}
}

// originSpan returns the span of the call that started an agent; invalid if there is none.
func originSpan(record ledger.Agent, origin agent.Origin) trace.SpanID {
	if record.Parent == "" || origin.Call == "" {
		return trace.SpanID{}
	}
	return spanID(record.Parent, callKey(origin.ModelCall, origin.Call))
}

func callKey(modelCall, call string) string {
	return agent.RunTool{ModelCall: modelCall, Call: call}.Key()
}

func traceID(root, thread string) trace.TraceID {
	digest := sha256.Sum256([]byte("trace\x00" + root + "\x00" + thread))
	return trace.TraceID(digest[:16])
}

func spanID(uid, key string) trace.SpanID {
	digest := sha256.Sum256([]byte("span\x00" + uid + "\x00" + key))
	return trace.SpanID(digest[:8])
}

// context returns a context in which a new span gets this place, in a sampled trace.
func (p spanPlace) context() context.Context {
	ctx := context.WithValue(context.Background(), placeKey{}, p)
	if !p.parent.IsValid() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, p.spanContext(p.parent, true))
}

func (p spanPlace) spanContext(span trace.SpanID, sampled bool) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: p.trace, SpanID: span, TraceFlags: trace.TraceFlags(0).WithSampled(sampled), Remote: true})
}

type placeKey struct{}

// identities gives spans the ids of the place in their context.
type identities struct{}

func (identities) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	p, _ := ctx.Value(placeKey{}).(spanPlace)
	return p.trace, p.span
}

func (identities) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	p, _ := ctx.Value(placeKey{}).(spanPlace)
	return p.span
}
