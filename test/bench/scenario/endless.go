// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"

	"github.com/nestor-dev/nestor/test/bench/bare"
	"github.com/nestor-dev/nestor/test/bench/report"
	"github.com/nestor-dev/nestor/test/stack"
)

const (
	// endlessTurns is the number of tool calls of the agent, and endlessResult the size of each result.
	endlessTurns  = 1000
	endlessResult = 5 << 10
	// wholeContext is a context that no history of these scenarios fills.
	wholeContext = 1 << 40
)

// Endless runs one agent with many tool calls, each with a different result, on the engine and the ledger alone.
// Without compaction every request contains the whole history; with it the context is that of an unknown model.
func Endless(turns int, compaction bool) Scenario {
	s := Scenario{Name: "endless", Agents: 1, ToolTurns: turns}
	load := bare.Load{Agents: 1, AtOnce: 1, Turns: turns, ResultBytes: endlessResult, SampleEvery: int64(turns / 10)}
	with := "with compaction"
	if !compaction {
		s.Name, with, load.ContextTokens = "endless-whole", "without compaction", wholeContext
	}
	s.Title = fmt.Sprintf("engine and ledger alone: one agent x %d tool turns of 5 KB, %s", turns, with)
	s.bare = func(ctx context.Context, env Environment, result *report.Result) error {
		outcome, err := measureBare(ctx, env, stack.SQLite, load, result)
		if err != nil {
			return err
		}
		if len(outcome.Samples) < 11 {
			return fmt.Errorf("the agent made too few of its %d tool calls", turns)
		}
		result.Figures = endlessFigures(outcome, result.LedgerBytes, turns/10)
		return reportSending(ctx, outcome, turns/10, result)
	}
	return s
}

// endlessFigures compares the first tenth of the turns with the last.
func endlessFigures(o bare.Outcome, ledgerBytes int64, tenth int) []report.Figure {
	const mib = 1 << 20
	figures := []report.Figure{
		{Name: "seen and said, each text once", Value: float64(o.UniqueBytes) / mib, Unit: "MiB"},
		{Name: "ledger", Value: float64(ledgerBytes) / mib, Unit: "MiB"},
		{Name: report.FigureLedgerRatio, Value: float64(ledgerBytes) / float64(o.UniqueBytes)},
		{Name: "compactions", Value: float64(o.Compactions)},
	}
	// The first sample is taken at the start, and one after each tenth of the tool calls.
	first, last := span(o.Samples[0], o.Samples[1], tenth), span(o.Samples[9], o.Samples[10], tenth)
	return append(figures,
		report.Figure{Name: fmt.Sprintf("turns/s, first %d", tenth), Value: first.rate}, report.Figure{Name: fmt.Sprintf("turns/s, last %d", tenth), Value: last.rate},
		report.Figure{Name: fmt.Sprintf("CPU a turn, first %d", tenth), Value: first.cpu, Unit: "ms"}, report.Figure{Name: fmt.Sprintf("CPU a turn, last %d", tenth), Value: last.cpu, Unit: "ms"},
		report.Figure{Name: fmt.Sprintf("sent to the model a turn, first %d", tenth), Value: first.sent, Unit: "KiB"}, report.Figure{Name: fmt.Sprintf("sent to the model a turn, last %d", tenth), Value: last.sent, Unit: "KiB"},
		report.Figure{Name: report.FigureGrowth, Value: last.cpu / first.cpu})
}

// reportSending adds the cost of the model client alone for requests as long as those of the first and last turns,
// and the growth of the rest of a turn, which should not depend on the history.
func reportSending(ctx context.Context, o bare.Outcome, tenth int, result *report.Result) error {
	var rest []float64
	for _, end := range []struct {
		name     string
		from, to bare.Sample
	}{{"first", o.Samples[0], o.Samples[1]}, {"last", o.Samples[9], o.Samples[10]}} {
		used, err := bare.SendCost(ctx, (end.to.Sent-end.from.Sent)/int64(tenth), endlessResult)
		if err != nil {
			return err
		}
		result.Figures = append(result.Figures, report.Figure{Name: fmt.Sprintf("CPU of the model client alone for such a request, %s %d", end.name, tenth), Value: milliseconds(used), Unit: "ms"})
		rest = append(rest, span(end.from, end.to, tenth).cpu-milliseconds(used))
	}
	if rest[0] > 0 && rest[1] > 0 { // otherwise the figures are not comparable
		result.Figures = append(result.Figures, report.Figure{Name: "the same without the model client's part", Value: rest[1] / rest[0]})
	}
	return nil
}

// cost is the cost of turns: turns per second, and milliseconds of CPU and KiB sent per turn.
type cost struct{ rate, cpu, sent float64 }

func span(from, to bare.Sample, turns int) cost {
	n := float64(turns)
	return cost{rate: n / to.At.Sub(from.At).Seconds(), cpu: milliseconds(to.CPU-from.CPU) / n, sent: float64(to.Sent-from.Sent) / 1024 / n}
}
