// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/test/bench/report"
)

func TestDistributionsAreOfMeasuredValues(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for name, tc := range map[string]struct {
		values []float64
		want   *report.Distribution
	}{
		"nothing":          {nil, nil},
		"one value":        {[]float64{7}, &report.Distribution{Count: 1, P50: 7, P95: 7, P99: 7, Max: 7}},
		"two values":       {[]float64{9, 1}, &report.Distribution{Count: 2, P50: 1, P95: 9, P99: 9, Max: 9}},
		"a hundred values": {hundred, &report.Distribution{Count: 100, P50: 50, P95: 95, P99: 99, Max: 100}},
	} {
		if diff := cmp.Diff(tc.want, report.Distribute(tc.values)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestFiguresComeFromCounts(t *testing.T) {
	r := fast()
	for name, figure := range map[string][2]float64{
		"turns a second":    {r.TurnsPerSecond(), 1000},
		"writes a turn":     {r.WritesPerTurn(), 0.6},
		"writes an agent":   {r.WritesPerAgent(), 4},
		"ledger bytes/turn": {r.LedgerBytesPerTurn(), 2048},
	} {
		if figure[0] != figure[1] {
			t.Errorf("%s: %v, want %v", name, figure[0], figure[1])
		}
	}
	if empty := (report.Result{}); empty.TurnsPerSecond() != 0 || empty.WritesPerTurn() != 0 {
		t.Error("a scenario that measured nothing has figures")
	}
}

// fast returns a result that reaches the targets for 1,000 agents.
func fast() report.Result {
	return report.Result{
		Name: "agents-1000x5-mcp", Agents: 1000, ToolTurns: 5, WallSeconds: 5, Turns: 5000, ModelCalls: 6000, Created: 1000, LedgerBytes: 5000 << 11, PeakRSSBytes: 100 << 20,
		Writes:         map[string]int64{"POST agenttasks": 1000, "POST subagents": 1000, "PUT agenttasks/status": 2000},
		OverheadMillis: &report.Distribution{Count: 5000, P50: 3, P95: 20, P99: 30, Max: 40},
		CPUSeconds:     map[string]float64{"operator": 2.5},
	}
}

func verdict(t *testing.T, r report.Result, what string) report.Row {
	t.Helper()
	for _, v := range (&report.Report{Results: []report.Result{r}}).TargetRows() {
		if v.What == what {
			return v
		}
	}
	t.Fatalf("there is no target %q", what)
	return report.Row{}
}

func TestVerdicts(t *testing.T) {
	const what = "1,000 agents x 5 tool turns, latency 0"
	slow, broken, failing := fast(), fast(), fast()
	slow.WallSeconds = 50
	broken.Error = "not done"
	failing.Failures = 1
	other := fast()
	other.Name = "agents-1x5-mcp"
	for want, r := range map[string]report.Result{"reached": fast(), "not measured": other} {
		if got := verdict(t, r, what); got.Verdict != want {
			t.Errorf("verdict %q, want %q", got.Verdict, want)
		}
	}
	for name, r := range map[string]report.Result{"slow": slow, "broken": broken, "failing": failing} {
		if got := verdict(t, r, what); got.Verdict != "**not reached**" {
			t.Errorf("%s: verdict %q, want not reached", name, got.Verdict)
		}
	}
	if got := verdict(t, fast(), what); got.Figure != "1200 calls/s, 0 failures" {
		t.Errorf("figure %q", got.Figure)
	}
	bound := &report.Report{Bounds: report.Bounds{Agents: 220}, Results: []report.Result{fast()}}
	for _, v := range bound.TargetRows() {
		if v.What == what+": agents a second" && (v.Figure != "91 % (200 of 220), 0 failures" || v.Verdict != "reached") {
			t.Errorf("by the bound: %+v", v)
		}
	}
	if got := verdict(t, fast(), what+": agents a second"); got.Verdict != "not measured" {
		t.Errorf("without a bound: %+v", got)
	}
	asking := report.Result{Name: "ask-latency", Latencies: map[string]*report.Distribution{report.LatencyAsk: {Count: 40, P50: 20, P95: 101}}}
	if got := verdict(t, asking, "a question at depth 2 until it is posted, 100 active agents"); got.Verdict != "**not reached**" || got.Figure != "p50 20.0 ms, p95 101.0 ms of 40, 0 failures" {
		t.Errorf("101 ms: %+v", got)
	}
	waiting := report.Result{Name: "waiting-10000", Figures: []report.Figure{{Name: report.FigureWaitingRSS, Value: 299, Unit: "MiB"}}}
	if got := verdict(t, waiting, "operator memory, 10,000 agents waiting for a person"); got.Verdict != "reached" {
		t.Errorf("299 MiB: verdict %q", got.Verdict)
	}
}

// alone returns a result of the engine and the ledger without Kubernetes.
func alone() report.Result {
	return report.Result{
		Name: "bare-50", Bare: true, Agents: 500, ToolTurns: 20, WallSeconds: 4, Turns: 10_000, ModelCalls: 10_500, LedgerBytes: 10_000 << 11, PeakRSSBytes: 50 << 20,
		OverheadMillis: &report.Distribution{Count: 10_000, P50: 2, P95: 4, P99: 5, Max: 6}, CPUSeconds: map[string]float64{"engine": 4},
	}
}

func TestOperatorsAreComparedInOneRun(t *testing.T) {
	one := report.Result{Name: "replicas-1", WallSeconds: 10, Turns: 1000}
	three := report.Result{Name: "replicas-3", WallSeconds: 10, Turns: 2600, Figures: []report.Figure{{Name: report.FigureSteady, Value: 300}}}
	const what = "three operators of a quarter core each, PostgreSQL, in comparison with one"
	if v := verdict(t, three, what); v.Verdict != report.NotMeasured {
		t.Errorf("without the other run: %+v", v)
	}
	for turns, want := range map[int64]string{1000: "reached", 1100: "**not reached**"} {
		one.Turns = turns
		r := &report.Report{Results: []report.Result{one, three}}
		var got string
		for _, row := range r.TargetRows() {
			if row.What == what {
				got = row.Verdict
			}
		}
		if got != want {
			t.Errorf("%d and %d turns: %s, want %s", turns, three.Turns, got, want)
		}
	}
	one.Turns = 1000
	path := filepath.Join(t.TempDir(), "page.md")
	if err := (&report.Report{Results: []report.Result{one, three}}).WritePage(path); err != nil {
		t.Fatal(err)
	}
	if page, err := os.ReadFile(path); err != nil || !strings.Contains(string(page), "| replicas-3 | 10.00 s | 260 | 2.60 | 300 | - |") {
		t.Errorf("the page lacks the comparison (%v):\n%s", err, page)
	}
}

func TestBareTargetChecksAllFigures(t *testing.T) {
	const what = "engine and ledger alone, SQLite, 50 agents"
	if got := verdict(t, alone(), what); got.Verdict != "reached" || got.Figure != "2500 turns/s, 0.40 ms, 2.0 KB, 0 failures" {
		t.Errorf("%+v", got)
	}
	slow, busy, large := alone(), alone(), alone()
	slow.WallSeconds = 5
	busy.CPUSeconds["engine"] = 6
	large.LedgerBytes *= 2
	for name, r := range map[string]report.Result{"slow": slow, "busy": busy, "large": large} {
		if got := verdict(t, r, what); got.Verdict != "**not reached**" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func whole() *report.Report {
	asking := report.Result{Name: "ask-latency", Latencies: map[string]*report.Distribution{report.LatencyAsk: {Count: 40, P50: 20, P95: 90, P99: 95, Max: 99}}}
	failed := report.Result{Name: "fanout-50-mcp", Error: "not done within 5s\nlast words"}
	delayed := fast()
	delayed.Name, delayed.LatencyMillis = "agents-1000x5-200ms-mcp", 200
	return &report.Report{
		At: time.Date(2026, 11, 15, 5, 0, 0, 0, time.UTC), Version: "v1", Ledger: "SQLite", OperatorFlags: "--log-level=warn", Machine: report.Machine{Processor: "P", Cores: 2},
		Bounds: report.Bounds{StatusPut2KB: 400, SQLiteRows2KB: 10000, Agents: 120}, Results: []report.Result{alone(), fast(), delayed, failed, asking},
	}
}

func TestReportRoundTrips(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bench")
	if err := whole().Write(dir, "r"); err != nil {
		t.Fatal(err)
	}
	again, err := report.Read(filepath.Join(dir, "r.json"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole(), again); diff != "" {
		t.Errorf("what was read differs (-written +read):\n%s", diff)
	}
	page, err := os.ReadFile(filepath.Join(dir, "r.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| bare-50 | 4.00 s | 2500 | 0.40 ms | 2.0 | 2.0 ms | 4.0 ms | 50.0 MiB | 0.0 s | 0 |",
		"| agents-1000x5-mcp | 5.00 s | 1000 | 1200 | 2.50 | 3.0 ms | 20.0 ms | 30.0 ms | - | - | 0 |",
		"| ask-latency | question at depth 2 until it is posted | p50 20.0 ms, p95 90.0 ms of 40 |",
		"| agents-1000x5-mcp | 0.60 | 4.0 | 2.00 | 2.0 | 0.10 | 0.0 MiB | 2.5 s | 0.50 ms | 100.0 MiB |",
		"| agents-1000x5-mcp | POST agenttasks: 1000, POST subagents: 1000, PUT agenttasks/status: 2000 |",
		"| Nestor | v1, ledger SQLite, `--log-level=warn` |", "| status PUTs of 2 KB | 400 |", "could not\nmake more than 600 turns per second", "with twenty no more than 2400.", "](r.svg)", "## fanout-50-mcp failed", "    last words",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

func TestPlotIsWellFormed(t *testing.T) {
	for name, r := range map[string]*report.Report{"empty": {}, "whole": whole()} {
		decoder := xml.NewDecoder(strings.NewReader(r.Plot()))
		circles := 0
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if start, ok := token.(xml.StartElement); ok && start.Name.Local == "circle" {
				circles++
			}
		}
		if want := map[string]int{"empty": 0, "whole": 6}[name]; circles != want {
			t.Errorf("%s: %d points, want %d", name, circles, want)
		}
		if strings.Contains(r.Plot(), "NaN") || strings.Contains(r.Plot(), "Inf") {
			t.Errorf("%s: a point is nowhere", name)
		}
	}
}

func TestComparing(t *testing.T) {
	older, newer := whole(), whole()
	newer.Version = "v2"
	older.Bounds.Agents, newer.Bounds.SQLiteRows2KB = 0, 0 // not every run measures all of them
	newer.Results[1].WallSeconds = 2.5
	newer.Results[1].PeakRSSBytes = 104 << 20
	newer.Results[1].Failures = 2
	newer.Results = append(newer.Results[1:2], report.Result{Name: "chat-1000"})
	got := report.Compare(older, newer)
	for _, want := range []string{
		"# v2 compared with v1",
		"| agents-1000x5-mcp | turns/s | 1000 | 2000 | +100 % | better |",
		"| agents-1000x5-mcp | turns/s ÷ bound | 2.5 | 5 | +100 % | better |",
		"| agents-1000x5-mcp | wall, s | 5 | 2.5 | -50 % | better |",
		"| agents-1000x5-mcp | peak memory, MiB | 100 | 104 | +4 % |  |",
		"| agents-1000x5-mcp | failures | 0 | 2 | - | **worse** |",
		"| chat-1000 | | | | only in the new report | |",
		"| bare-50 | | | | only in the old report | |",
		"| fanout-50-mcp | | | | only in the old report | |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the comparison lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "different machines") {
		t.Error("the same machine is reported as different")
	}
	newer.Ledger = "PostgreSQL"
	if !strings.Contains(report.Compare(older, newer), "different machines") {
		t.Error("a different ledger is not reported")
	}
}

func TestCostsAreComparedWithIdle(t *testing.T) {
	result := report.Result{Agents: 100, Turns: 500, WallSeconds: 2, CPUSeconds: map[string]float64{"operator": 1, "API server": 2, "etcd": 0.5}}
	for want, bounds := range map[string]report.Bounds{
		"CPU: operator 10.0 ms an agent, 2.00 ms a turn; API server 20.0 ms an agent, 4.00 ms a turn; etcd 5.0 ms an agent, 1.00 ms a turn": {},
		"CPU: operator 10.0 ms an agent, 2.00 ms a turn; API server 20.0 ms an agent, 4.00 ms a turn, 2.5 x agents that do nothing; " +
			"etcd 5.0 ms an agent, 1.00 ms a turn; 40 % of the agents a second that do nothing": {Agents: 125, AgentMillis: map[string]float64{"API server": 8}},
	} {
		if got := (&report.Report{Bounds: bounds}).Costs(result); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got := (&report.Report{}).Costs(report.Result{Bare: true, Agents: 1}); got != "" {
		t.Errorf("the engine alone has a control plane: %s", got)
	}
}

func TestCPUShares(t *testing.T) {
	r := report.Report{Machine: report.Machine{Cores: 2}}
	for want, cpu := range map[string]map[string]float64{
		"a: 90 % of all processors were busy: API server 67 %, operator 33 %": {"operator": 6, "API server": 12, "driver": 0.01, "machine": 99},
		"": {"operator": 1, "API server": 2, "machine": 99},
	} {
		if got := r.Shares(report.Result{Name: "a", WallSeconds: 10, CPUSeconds: cpu}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
