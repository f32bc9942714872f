// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/test/bench/report"
	"github.com/nestor-dev/nestor/test/stack"
)

func TestChoosing(t *testing.T) {
	all, err := Choose("")
	if err != nil || len(all) != len(All()) {
		t.Errorf("nothing chosen: %d scenarios (%v)", len(all), err)
	}
	some, err := Choose("fanout-50, agents-1000x5* fanout-*0-mcp agents-7x3-1s recovery-8 fanout-3-mcp agents-7x3-1s-mcp bare-7x3-postgres bare-7-postgres-sharded bare-8 live-9-1s live-9x2-1s recovery-8-mcp triggers-9 replicas-2-9x2-1s handover-sigkill-9 limits-90s fork-9 evaluation-9")
	var names []string
	for _, s := range some {
		names = append(names, s.Name)
	}
	want := []string{"fanout-50", "agents-1000x5-mcp", "agents-1000x5-200ms-mcp", "agents-1000x5", "fanout-50-mcp", "fanout-500-mcp", "agents-7x3-1s",
		"recovery-8", "fanout-3-mcp", "agents-7x3-1s-mcp", "bare-7x3-postgres", "bare-7-postgres-sharded", "bare-8", "live-9-1s", "live-9x2-1s", "recovery-8-mcp", "triggers-9", "replicas-2-9x2-1s", "handover-sigkill-9", "limits-1m30s", "fork-9", "evaluation-9"}
	if diff := cmp.Diff(want, names); diff != "" || err != nil {
		t.Errorf("chosen (%v) (-want +got):\n%s", err, diff)
	}
	if s := some[6]; s.Agents != 7 || s.ToolTurns != 3 || s.Latency != time.Second {
		t.Errorf("agents-7x3-1s is %d agents x %d turns, latency %s", s.Agents, s.ToolTurns, s.Latency)
	}
	for _, wrong := range []string{"agents-7", "fanout-50 no-such", "[", "fanout-5x5", "chat-0", "chat-5-200ms", "waiting-8-mcp", "triggers-8-mcp", "triggers-8-1s", "live-9", "bare-0", "bare-5-mcp", "replicas-9", "handover-9", "limits-0s"} {
		if _, err := Choose(wrong); err == nil {
			t.Errorf("%q was taken for a scenario", wrong)
		}
	}
}

func TestScenarioNamesAndScripts(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		if seen[s.Name] {
			t.Errorf("two scenarios are called %s", s.Name)
		}
		seen[s.Name] = true
		if _, err := scripted.Parse(s.Name, []byte(s.script)); s.NeedsStack() && err != nil {
			t.Error(err)
		}
	}
}

func TestGrowthComparesTenths(t *testing.T) {
	took := make([]float64, 100)
	for i := range took {
		took[i] = 10
	}
	for i := 90; i < 100; i++ {
		took[i] = 25
	}
	result := report.Result{Figures: growth("answer", took)}
	if got, _ := result.Figure(report.FigureGrowth); got != 2.5 {
		t.Errorf("growth %v, want 2.5: %v", got, result.Figures)
	}
	if took[0] != 10 || took[99] != 25 {
		t.Error("what was measured is in another order")
	}
}

func TestWallEndsWithLastTask(t *testing.T) {
	now := time.Now()
	some := newTasks("agent", 3, "Success")
	if wall := some.wall(); wall != 0 {
		t.Errorf("nothing was created, and it took %s", wall)
	}
	some.created = []time.Time{now.Add(time.Second), now, {}}
	some.reached[0], some.phases[0] = now.Add(5*time.Second), "Success"
	some.reached[1], some.phases[1] = now.Add(3*time.Second), "Failed"
	if wall := some.wall(); wall != 5*time.Second {
		t.Errorf("wall %s, want 5s", wall)
	}
	var result report.Result
	some.report(&result)
	if result.Failures != 2 || result.CompletionMillis.Count != 1 || result.CompletionMillis.Max != 4000 {
		t.Errorf("%d failures, %+v", result.Failures, result.CompletionMillis)
	}
}

// TestASmallRun measures three agents on a real stack.
func TestASmallRun(t *testing.T) {
	t.Parallel()
	ctrl.SetLogger(logr.Discard())
	env := Environment{Ledger: stack.SQLite, Timeout: 5 * time.Minute, Logf: t.Logf, Programs: programs(t)}
	result := Agents(3, 2, 0, CalculatorTool).Run(t.Context(), env)
	if result.Error != "" || result.Failures != 0 {
		t.Fatalf("%s", result)
	}
	t.Log(result)
	if result.Turns != 6 || result.Created != 3 || result.CompletionMillis.Count != 3 || result.OverheadMillis.Count != 6 {
		t.Errorf("measured %d turns, %d creates, %d ends, %d overheads", result.Turns, result.Created, result.CompletionMillis.Count, result.OverheadMillis.Count)
	}
	if result.WallSeconds <= 0 || result.WallSeconds > env.Timeout.Seconds() || result.OverheadMillis.P50 <= 0 || result.CompletionMillis.Max > 1000*result.WallSeconds {
		t.Errorf("the times do not fit together: %+v", result)
	}
	for _, name := range []string{report.LatencyFirstCall, report.LatencyEnd} {
		if d := result.Latencies[name]; d == nil || d.Count != 3 || d.P50 <= 0 || d.Max > 1000*result.WallSeconds {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if n := result.Writes["POST agenttasks"]; n != 3 {
		t.Errorf("the API server counted %d creates of tasks, want 3: %v", n, result.Writes)
	}
	if result.WritesPerTurn() <= 0 || result.LedgerBytes <= 0 || result.PeakRSSBytes < 10<<20 || result.CPUSeconds["operator"] <= 0 {
		t.Errorf("something cost nothing: %+v", result)
	}
	if _, measured := result.CPUSeconds["tool server"]; measured {
		t.Error("a tool server was measured, and there is none")
	}
}

func TestASmallLiveRun(t *testing.T) {
	t.Parallel()
	ctrl.SetLogger(logr.Discard())
	const latency = 500 * time.Millisecond
	result := Live(3, fewTurns, latency).Run(t.Context(), Environment{Ledger: stack.SQLite, Timeout: 5 * time.Minute, Logf: t.Logf, Programs: programs(t)})
	if result.Error != "" || result.Failures != 0 || result.Turns != 3*fewTurns {
		t.Fatalf("%s", result)
	}
	if least := (fewTurns + 1) * latency.Seconds(); result.WallSeconds < least {
		t.Errorf("%v s, want at least %v s: the latency of each call", result.WallSeconds, least)
	}
	if _, measured := result.CPUSeconds["tool server"]; !measured {
		t.Errorf("the tool server was not measured: %v", result.CPUSeconds)
	}
	if most, ok := result.Figure("agents active at the same time, at most"); !ok || most < 1 || most > 3 {
		t.Errorf("%v of 3 agents were active at the same time: %v", most, result.Figures)
	}
}
