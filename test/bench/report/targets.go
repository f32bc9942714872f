// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package report

import "fmt"

// target is a figure to reach, in the words of the issue that asked for it. Tool turns are those with an MCP tool, which users have.
type target struct {
	what, reach string
	scenario    string
	// judge reads the figure from the scenario's result, and says whether it is reached. An empty figure was not measured.
	judge func(Result) (figure string, reached bool)
}

// Names of the figures that targets look for. The scenarios that measure them use these.
const (
	FigureWaitingRSS = "operator memory while all wait"
	FigureProgress   = "all progress again after"
	FigureGrowth     = "cost of a turn at the end / at the beginning"
)

var targets = []target{
	{"1,000 agents x 5 tool turns, latency 0", "at least 600 turns/s, no failure", "agents-1000x5-mcp", throughput(600)},
	{"1,000 agents x 20 tool turns, latency 0", "at least 1,000 turns/s", "agents-1000x20-mcp", throughput(1000)},
	{"1,000 agents x 5 tool turns, latency 200 ms", "at most 10 s", "agents-1000x5-200ms-mcp", wall(10)},
	{"overhead per turn, 100 agents, latency 200 ms", "p50 at most 5 ms, p95 at most 25 ms", "agents-100x5-200ms-mcp", overhead(5, 25)},
	{"API writes per tool turn, runs of 20 turns", "at most 0.5", "agents-1000x20-mcp", writesPerTurn(0.5)},
	{"API writes of a short agent, its task included", "at most 5", "agents-1000x5-mcp", writesPerAgent(5)},
	{"operator memory, 10,000 agents waiting for a person", "at most 300 MiB", "waiting-10000", figure(FigureWaitingRSS, 300, "MiB")},
	{"fan-out of 50 x 2 tool turns and fan-in, latency 200 ms", "at most 2.5 s", "fanout-50-mcp", wall(2.5)},
	{"fan-out of 500 x 2 tool turns and fan-in, latency 200 ms", "at most 15 s", "fanout-500-mcp", wall(15)},
	{"SIGKILL with 1,000 live agents, until all progress again", "at most 5 s after the new operator starts", "recovery-1000", figure(FigureProgress, 5, "s")},
	{"growth with finished agents: CPU of a turn after 4,000 of them", "not above 1.25 x that of the first", "growth-finished", figure(FigureGrowth, 1.25, "x")},
	{"growth with the chat: time of an answer after 900 messages", "not above 1.5 x that of the first (the request itself is longer)", "chat-1000", figure(FigureGrowth, 1.5, "x")},
	{"growth with the history: time of a turn after 180 turns", "not above 1.5 x that of the first (the request itself is longer)", "growth-history", figure(FigureGrowth, 1.5, "x")},
}

func throughput(least float64) func(Result) (string, bool) {
	return func(r Result) (string, bool) {
		return fmt.Sprintf("%.0f turns/s, %d failures", r.TurnsPerSecond(), r.Failures), r.TurnsPerSecond() >= least && r.Failures == 0
	}
}

func wall(most float64) func(Result) (string, bool) {
	return func(r Result) (string, bool) {
		return fmt.Sprintf("%.2f s, %d failures", r.WallSeconds, r.Failures), r.WallSeconds > 0 && r.WallSeconds <= most && r.Failures == 0
	}
}

func overhead(p50, p95 float64) func(Result) (string, bool) {
	return func(r Result) (string, bool) {
		d := r.OverheadMillis
		if d == nil {
			return "", false
		}
		return fmt.Sprintf("p50 %.1f ms, p95 %.1f ms", d.P50, d.P95), d.P50 <= p50 && d.P95 <= p95
	}
}

func writesPerTurn(most float64) func(Result) (string, bool) {
	return func(r Result) (string, bool) {
		return fmt.Sprintf("%.2f", r.WritesPerTurn()), r.Turns > 0 && r.WritesPerTurn() <= most
	}
}

func writesPerAgent(most float64) func(Result) (string, bool) {
	return func(r Result) (string, bool) {
		return fmt.Sprintf("%.2f", r.WritesPerAgent()), r.Turns > 0 && r.WritesPerAgent() <= most
	}
}

func figure(name string, most float64, unit string) func(Result) (string, bool) {
	return func(r Result) (string, bool) {
		value, ok := r.Figure(name)
		if !ok {
			return "", false
		}
		return fmt.Sprintf("%.2f %s, %d failures", value, unit, r.Failures), value <= most && r.Failures == 0
	}
}

// Verdict is one row of the table of targets.
type Verdict struct{ What, Reach, Figure, Verdict string }

// Verdicts judges the report by the targets.
func (r *Report) Verdicts() []Verdict {
	var rows []Verdict
	for _, t := range targets {
		row := Verdict{What: t.what, Reach: t.reach, Figure: "-", Verdict: "not measured"}
		if result, ok := r.result(t.scenario); ok {
			row.Verdict = "**not reached**"
			value, reached := t.judge(result)
			if value != "" {
				row.Figure = value
			}
			// A scenario that broke off has no figure to be proud of.
			if reached && result.Error == "" {
				row.Verdict = "reached"
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func (r *Report) result(name string) (Result, bool) {
	for _, result := range r.Results {
		if result.Name == name {
			return result, true
		}
	}
	return Result{}, false
}
