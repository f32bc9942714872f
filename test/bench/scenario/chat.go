// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/test/bench/report"
)

// FanOut starts n agents with two tool turns each from a chat, and waits for all results.
func FanOut(n int, latency time.Duration, tool Tool) Scenario {
	const turns = 2
	s := Scenario{
		Name: fmt.Sprintf("fanout-%d%s", n, tool.suffix), Title: fmt.Sprintf("a chat fans out to %d agents x %d tool turns with %s and gathers their results, latency %d ms", n, turns, tool.title, latency.Milliseconds()),
		Agents: n, ToolTurns: turns, Latency: latency, Tool: tool, script: chatScript(tool, turns, latency), warm: "Success", prepare: openChat,
	}
	s.run = func(ctx context.Context, r *harness, result *report.Result) error {
		conversation := startConversationDriver(ctx, r)
		took, err := conversation.sendAndWait("fan-out", fmt.Sprintf("Fan out %d", n))
		result.Created++
		result.WallSeconds = took.Seconds()
		return errors.Join(err, conversation.end())
	}
	return s
}

// Chat sends n messages to a chat, each after the answer to the previous one.
func Chat(n int) Scenario {
	s := Scenario{
		Name: fmt.Sprintf("chat-%d", n), Title: fmt.Sprintf("a chat of %d messages, each sent after the answer to the one before, latency 0 ms", n),
		Agents: 1, Tool: CalculatorTool, script: chatScript(CalculatorTool, 1, 0), warm: "Success", prepare: openChat,
	}
	s.run = func(ctx context.Context, r *harness, result *report.Result) error {
		conversation := startConversationDriver(ctx, r)
		took := make([]float64, 0, n)
		began := time.Now()
		var err error
		for i := 0; i < n && err == nil; i++ {
			var answer time.Duration
			answer, err = conversation.sendAndWait(fmt.Sprintf("say-%d", i), fmt.Sprintf("Message %d", i))
			result.Created++
			took = append(took, milliseconds(answer))
		}
		result.WallSeconds = time.Since(began).Seconds()
		result.Figures = append(result.Figures, report.Figure{Name: "messages answered a second", Value: float64(len(took)) / result.WallSeconds})
		result.Figures = append(result.Figures, growth("answer", took)...)
		result.CompletionMillis = report.Distribute(took)
		return errors.Join(err, conversation.end())
	}
	return s
}

// growth compares the first tenth of the measurements with the last.
func growth(what string, took []float64) []report.Figure {
	tenth := max(1, len(took)/10)
	first, last := report.Distribute(slices.Clone(took[:tenth])), report.Distribute(slices.Clone(took[len(took)-tenth:]))
	return []report.Figure{
		{Name: what + ", first tenth, p50", Value: first.P50, Unit: "ms"},
		{Name: what + ", last tenth, p50", Value: last.P50, Unit: "ms"},
		{Name: report.FigureGrowth, Value: last.P50 / first.P50},
	}
}
