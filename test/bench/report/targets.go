// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package report

import "fmt"

// criterion returns a figure of a scenario's result, and whether it reaches the target. An empty figure was not
// measured. The report has the bounds of the same run.
type criterion func(r *Report, result Result) (figure string, reached bool)

// target is a figure to reach, as stated in its issue. Tool turns use an MCP tool, like users' tools.
type target struct {
	what, reach string
	scenario    string
	check       criterion
}

// Names of the figures of targets, shared with the scenarios that measure them.
const (
	FigureWaitingRSS = "operator memory while all wait"
	FigureProgress   = "all progress again after"
	FigureGrowth     = "cost of a turn at the end / at the beginning"
	FigureDoor       = "what the door adds to a run, p95"
	// FigureTriggerCPU and FigureTriggerMemory are the cost of triggers whose firings start no work.
	FigureTriggerCPU    = "CPU while the triggers fire, share of a core"
	FigureTriggerMemory = "memory of the triggers, with the tasks of their first firings"
	// FigureSteady is for the replicas scenarios, and the others for hand-overs and limits with several operators.
	FigureSteady       = "turns/s between the first and the last fifth of the turns"
	FigureLongestPause = "longest time without a step, agents of the operator that ended, beyond the model's latency"
	FigureRepeated     = "slow model calls that were made twice"
	FigureConcurrency  = "concurrent requests at the model, at most, of the limit"
	FigureRequests     = "requests at the model in any 60 s, at most, of the limit"
	FigureTokens       = "tokens at the model in any 60 s, at most, of the limit"
	// FigureLedgerRatio is the ledger's growth relative to the texts of the agent.
	FigureLedgerRatio = "ledger ÷ seen and said"
)

// Names of the latencies.
const (
	LatencyAsk      = "question at depth 2 until it is posted"
	LatencyDelegate = "delegation until the agent's first model call"
	LatencyReturn   = "result until the parent's next model call"
	LatencyCancel   = "cancel until the request at depth 3 is aborted"
	LatencyOverAPI  = "a run over the Kubernetes API"
	LatencyOverDoor = "a run over the OpenAI door"
	// LatencyFirstCall and LatencyEnd are the parts of a run before and after the agent's own work.
	LatencyFirstCall = "create of a task until its agent's first model call"
	LatencyEnd       = "last reply of the model until the task's end is shown"
)

var targets = []target{
	{"engine and ledger alone, SQLite, 50 agents", "at least 2,500 turns/s, at most 0.5 ms of CPU and 3 KB a turn", "bare-50", alone(2500, 0.5, 3)},
	{"engine and ledger alone, SQLite, 500 agents", "at least 2,500 turns/s, at most 0.5 ms of CPU and 3 KB a turn", "bare-500", alone(2500, 0.5, 3)},
	{"engine and ledger alone, PostgreSQL, 50 agents", "at least 1,500 turns/s", "bare-50-postgres", throughput(1500)},
	{"engine and ledger alone, PostgreSQL, 500 agents", "at least 1,500 turns/s", "bare-500-postgres", throughput(1500)},
	{"one agent x 1,000 turns of 5 KB: bytes in the ledger", "at most 1.3 x what it has seen and said", "endless", figure(FigureLedgerRatio, 1.3, "x")},
	{"one agent x 1,000 turns of 5 KB, without compaction: bytes in the ledger", "at most 1.3 x what it has seen and said", "endless-whole", figure(FigureLedgerRatio, 1.3, "x")},
	{"one agent x 1,000 turns of 5 KB: CPU of the last 100 turns", "at most 1.2 x that of the first 100", "endless", figure(FigureGrowth, 1.2, "x")},
	{"one agent x 1,000 turns of 5 KB, without compaction: CPU of the last 100 turns", "at most 1.2 x that of the first 100", "endless-whole", figure(FigureGrowth, 1.2, "x")},
	{"1,000 agents x 20 tool turns, latency 0: operator CPU", "at most 0.7 ms a turn", "agents-1000x20-mcp", cpuPerTurn(0.7)},
	{"1,000 agents x 20 tool turns, latency 0", "at least 900 model calls/s", "agents-1000x20-mcp", calls(900)},
	{"1,000 agents x 5 tool turns, latency 0", "at least 600 model calls/s, no failure", "agents-1000x5-mcp", calls(600)},
	{"1,000 agents x 5 tool turns, latency 0: agents a second", "at least 85 % of what four writes an agent allow", "agents-1000x5-mcp", agentsToBound(0.85)},
	{"1,000 agents x 5 tool turns, latency 0: API server CPU", "at most 16 ms an agent", "agents-1000x5-mcp", cpuPerAgent("API server", 16)},
	{"1,000 agents x 5 tool turns, latency 0: first model call", "p50 at most 4 s after the create", "agents-1000x5-mcp", halfWithin(LatencyFirstCall, 4000)},
	{"1,000 agents x 5 tool turns, latency 0: end of the task", "p50 at most 2 s after the last reply", "agents-1000x5-mcp", halfWithin(LatencyEnd, 2000)},
	{"1,000 agents x 5 tool turns, latency 200 ms", "at most 10 s", "agents-1000x5-200ms-mcp", wall(10)},
	{"overhead per turn, 100 agents, latency 200 ms", "p50 at most 5 ms, p95 at most 25 ms", "agents-100x5-200ms-mcp", overhead(5, 25)},
	{"1,000 agents x 5 tool turns, latency 0: operator memory", "at most 150 MiB", "agents-1000x5-mcp", peakMemory(150)},
	{"1,000 agents x 20 tool turns, latency 0: operator memory", "at most 250 MiB", "agents-1000x20-mcp", peakMemory(250)},
	{"overhead per turn, 1,000 agents, latency 2 s", "p95 at most 60 ms", "live-1000x20-2s", overhead(60, 60)},
	{"operator memory, 1,000 agents, latency 2 s", "at most 250 MiB", "live-1000x20-2s", peakMemory(250)},
	{"a question at depth 2 until it is posted, 100 active agents", "p95 at most 100 ms", "ask-latency", latency(LatencyAsk, 100)},
	{"a cancel until the request at depth 3 is aborted, 100 active agents", "p95 at most 100 ms", "cancel-depth-3", latency(LatencyCancel, 100)},
	{"a run over the OpenAI door, in comparison with the Kubernetes API", "p95 at most 10 ms more", "gateway", figure(FigureDoor, 10, "ms")},
	{"API writes per tool turn, runs of 20 turns", "at most 0.5", "agents-1000x20-mcp", writesPerTurn(0.5)},
	{"API writes of a short agent, its task included", "at most 5", "agents-1000x5-mcp", writesPerAgent(5)},
	{"operator memory, 10,000 agents waiting for a person", "at most 300 MiB", "waiting-10000", figure(FigureWaitingRSS, 300, "MiB")},
	{"fork of a run of 1,000 turns: first model call", "p50 at most 100 ms after the create", "fork-1000", halfWithin(LatencyFirstCall, 100)},
	{"evaluation of 200 recorded runs x 2 lanes", "at most 180 s", "evaluation-200", wall(180)},
	{"operator CPU, 1,000 triggers that fire every minute", "at most 5 % of a core", "triggers-1000", figure(FigureTriggerCPU, 5, "%")},
	{"operator memory, 1,000 triggers that fire every minute", "at most 20 MiB", "triggers-1000", figure(FigureTriggerMemory, 20, "MiB")},
	{"fan-out of 50 x 2 tool turns and fan-in, latency 200 ms", "at most 2.5 s", "fanout-50-mcp", wall(2.5)},
	{"fan-out of 500 x 2 tool turns and fan-in, latency 200 ms", "at most 15 s", "fanout-500-mcp", wall(15)},
	{"SIGKILL with 1,000 live agents, until all progress again", "at most 5 s after the new operator starts", "recovery-1000-mcp", figure(FigureProgress, 5, "s")},
	{"three operators of a quarter core each, PostgreSQL, in comparison with one", "at least 2.5 x the turns/s", "replicas-3", scaling(oneOperator, 2.5)},
	{"SIGTERM of one of three operators: agents of its shards without a step", "at most 1 s", "handover-sigterm", figure(FigureLongestPause, 1, "s")},
	{"SIGTERM of one of three operators: model calls of 10 s in flight", "each made once", "handover-sigterm", figure(FigureRepeated, 0, "made twice")},
	{"SIGKILL of one of three operators: agents of its shards without a step", "at most 10 s", "handover-sigkill", figure(FigureLongestPause, 10, "s")},
	{"limits of a provider with three operators, 10 minutes: concurrent requests", "at most 100 % of the limit", "limits-10m0s", figure(FigureConcurrency, 100, "%")},
	{"limits of a provider with three operators, 10 minutes: requests in any 60 s", "at most 100 % of the limit", "limits-10m0s", figure(FigureRequests, 100, "%")},
	{"limits of a provider with three operators, 10 minutes: tokens in any 60 s", "at most 100 % of the limit", "limits-10m0s", figure(FigureTokens, 100, "%")},
	{"growth with finished agents: CPU of a turn after 4,000 of them", "at most 1.1 x that of the first", "growth-finished-mcp", figure(FigureGrowth, 1.1, "x")},
	{"growth with the chat: time of an answer after 900 messages", "at most 1.5 x that of the first (the request itself is longer)", "chat-1000", figure(FigureGrowth, 1.5, "x")},
	{"growth with the history: time of a turn after 180 turns", "at most 1.5 x that of the first (the request itself is longer)", "growth-history-mcp", figure(FigureGrowth, 1.5, "x")},
}

// throughput counts tool turns, and calls all model calls.
func throughput(least float64) criterion {
	return func(_ *Report, r Result) (string, bool) {
		return fmt.Sprintf("%.0f turns/s, %d failures", r.TurnsPerSecond(), r.Failures), r.TurnsPerSecond() >= least && r.Failures == 0
	}
}

func calls(least float64) criterion {
	return func(_ *Report, r Result) (string, bool) {
		if r.ModelCalls == 0 { // a report from before they were counted
			return "", false
		}
		return fmt.Sprintf("%.0f calls/s, %d failures", r.CallsPerSecond(), r.Failures), r.CallsPerSecond() >= least && r.Failures == 0
	}
}

// alone checks the engine without Kubernetes.
func alone(turns, cpu, kilobytes float64) criterion {
	return func(_ *Report, r Result) (string, bool) {
		kilobytesPerTurn := r.LedgerBytesPerTurn() / 1024
		return fmt.Sprintf("%.0f turns/s, %.2f ms, %.1f KB, %d failures", r.TurnsPerSecond(), r.CPUPerTurn(), kilobytesPerTurn, r.Failures),
			r.Turns > 0 && r.TurnsPerSecond() >= turns && r.CPUPerTurn() <= cpu && kilobytesPerTurn <= kilobytes && r.Failures == 0
	}
}

func cpuPerTurn(most float64) criterion {
	return func(_ *Report, r Result) (string, bool) {
		return fmt.Sprintf("%.2f ms, %d failures", r.CPUPerTurn(), r.Failures), r.Turns > 0 && r.CPUPerTurn() <= most && r.Failures == 0
	}
}

// agentsToBound compares the agents per second with the bound of the same run.
func agentsToBound(least float64) criterion {
	return func(report *Report, r Result) (string, bool) {
		share := over(over(float64(r.Agents), r.WallSeconds), report.Bounds.Agents)
		if share == 0 {
			return "", false
		}
		return fmt.Sprintf("%.0f %% (%.0f of %.0f), %d failures", 100*share, float64(r.Agents)/r.WallSeconds, report.Bounds.Agents, r.Failures), share >= least && r.Failures == 0
	}
}

func peakMemory(most float64) criterion {
	return func(_ *Report, r Result) (string, bool) {
		mib := float64(r.PeakRSSBytes) / (1 << 20)
		return fmt.Sprintf("%.0f MiB, %d failures", mib, r.Failures), mib > 0 && mib <= most && r.Failures == 0
	}
}

func wall(most float64) criterion {
	return func(_ *Report, r Result) (string, bool) {
		return fmt.Sprintf("%.2f s, %d failures", r.WallSeconds, r.Failures), r.WallSeconds > 0 && r.WallSeconds <= most && r.Failures == 0
	}
}

func overhead(p50, p95 float64) criterion {
	return func(_ *Report, r Result) (string, bool) {
		d := r.OverheadMillis
		if d == nil {
			return "", false
		}
		return fmt.Sprintf("p50 %.1f ms, p95 %.1f ms", d.P50, d.P95), d.P50 <= p50 && d.P95 <= p95
	}
}

func latency(name string, p95 float64) criterion {
	return func(_ *Report, r Result) (string, bool) {
		d := r.Latencies[name]
		if d == nil {
			return "", false
		}
		return fmt.Sprintf("p50 %.1f ms, p95 %.1f ms of %d, %d failures", d.P50, d.P95, d.Count, r.Failures), d.P95 <= p95 && r.Failures == 0
	}
}

func halfWithin(name string, p50 float64) criterion {
	return func(_ *Report, r Result) (string, bool) {
		d := r.Latencies[name]
		if d == nil {
			return "", false
		}
		return fmt.Sprintf("p50 %.0f ms, p95 %.0f ms, %d failures", d.P50, d.P95, r.Failures), d.P50 <= p50 && r.Failures == 0
	}
}

func cpuPerAgent(process string, most float64) criterion {
	return func(_ *Report, r Result) (string, bool) {
		return fmt.Sprintf("%.1f ms, %d failures", r.CPUPerAgent(process), r.Failures), r.CPUPerAgent(process) <= most && r.Failures == 0
	}
}

func writesPerTurn(most float64) criterion {
	return func(_ *Report, r Result) (string, bool) {
		return fmt.Sprintf("%.2f", r.WritesPerTurn()), r.Turns > 0 && r.WritesPerTurn() <= most
	}
}

func writesPerAgent(most float64) criterion {
	return func(_ *Report, r Result) (string, bool) {
		return fmt.Sprintf("%.2f", r.WritesPerAgent()), r.Turns > 0 && r.WritesPerAgent() <= most
	}
}

func figure(name string, most float64, unit string) criterion {
	return func(_ *Report, r Result) (string, bool) {
		value, ok := r.Figure(name)
		if !ok {
			return "", false
		}
		return fmt.Sprintf("%.2f %s, %d failures", value, unit, r.Failures), value <= most && r.Failures == 0
	}
}

// scaling compares the throughput with that of another scenario of the same run.
func scaling(other string, least float64) criterion {
	return func(report *Report, r Result) (string, bool) {
		one, ok := report.result(other)
		ratio := over(r.TurnsPerSecond(), one.TurnsPerSecond())
		if !ok || ratio == 0 {
			return "", false
		}
		return fmt.Sprintf("%.2f x (%.0f and %.0f turns/s), %d failures", ratio, r.TurnsPerSecond(), one.TurnsPerSecond(), r.Failures+one.Failures),
			ratio >= least && r.Failures+one.Failures == 0
	}
}

// NotMeasured is the verdict on a target whose figure was not measured.
const NotMeasured = "not measured"

// Row is one row of the table of targets.
type Row struct{ What, Reach, Figure, Verdict string }

// TargetRows compares the report with the targets.
func (r *Report) TargetRows() []Row {
	var rows []Row
	for _, t := range targets {
		row := Row{What: t.what, Reach: t.reach, Figure: "-", Verdict: NotMeasured}
		if result, ok := r.result(t.scenario); ok {
			value, reached := t.check(r, result)
			if value != "" {
				row.Figure = value
			}
			switch {
			case reached && result.Error == "": // a failed scenario reaches nothing
				row.Verdict = "reached"
			case value != "" || result.Error != "":
				row.Verdict = "**not reached**"
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
