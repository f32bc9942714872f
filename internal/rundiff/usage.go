// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package rundiff

import (
	"strings"
	"time"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/money"
)

// Usage is the usage of a step or a run.
type Usage struct {
	Tokens int64 `json:"tokens"`
	// CostMicros are the prices in millionths, by currency.
	CostMicros money.Sums `json:"costMicros,omitempty"`
	// UnknownCost means that a price is unknown, so that CostMicros is not all.
	UnknownCost bool `json:"unknownCost,omitempty"`
}

func usageOf(u *historyv1.TokenUsage) *Usage {
	if u == nil {
		return nil
	}
	usage := &Usage{UnknownCost: u.CostMicros == nil}
	for _, tokens := range []*int64{u.PromptTokens, u.CompletionTokens} {
		if tokens != nil {
			usage.Tokens += *tokens
		}
	}
	if u.CostMicros != nil {
		usage.CostMicros = money.Sums{u.Currency: *u.CostMicros}
	}
	return usage
}

// plus returns the sum of both, either of which may be unknown.
func (u *Usage) plus(other *Usage) *Usage {
	switch {
	case other == nil:
		return u
	case u == nil:
		return other
	}
	return &Usage{
		Tokens: u.Tokens + other.Tokens, CostMicros: u.CostMicros.Plus(other.CostMicros), UnknownCost: u.UnknownCost || other.UnknownCost,
	}
}

// segmentKey identifies a call in the segments of a run: the name of the ModelCall without the attempt, and for a tool call, its ID.
type segmentKey struct{ model, call string }

// durationsOf returns how long each call was in progress.
func durationsOf(segments []historyv1.Segment) map[segmentKey]time.Duration {
	durations := map[segmentKey]time.Duration{}
	for _, s := range segments {
		switch s.Kind {
		case historyv1.SegmentModel:
			durations[segmentKey{model: withoutAttempt(s.ModelCall)}] += lengthOf(s)
		case historyv1.SegmentTool, historyv1.SegmentChildren:
			for _, call := range s.ToolCalls {
				durations[segmentKey{withoutAttempt(s.ModelCall), call.ID}] += lengthOf(s)
			}
		}
	}
	return durations
}

// lengthOf returns the length of a segment. One that lasts has none yet.
func lengthOf(s historyv1.Segment) time.Duration {
	if s.EndTime == nil {
		return 0
	}
	return s.EndTime.Sub(s.StartTime.Time)
}

// withoutAttempt returns the name of a ModelCall, UID.CALL.ATTEMPT, without the attempt.
func withoutAttempt(modelCall string) string {
	return modelCall[:max(0, strings.LastIndexByte(modelCall, '.'))]
}
