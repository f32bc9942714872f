// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/test/bench/bare"
	"github.com/nestor-dev/nestor/test/bench/report"
	"github.com/nestor-dev/nestor/test/stack"
)

func TestSmallBareRuns(t *testing.T) {
	for _, s := range []Scenario{Bare(1, 2, stack.SQLite, 0), Bare(1, 2, stack.PostgreSQL, 0), Bare(1, 2, stack.PostgreSQL, 3)} {
		t.Run(s.Name, func(t *testing.T) {
			env := Environment{Timeout: 5 * time.Minute, Logf: t.Logf, Profiles: t.TempDir()}
			result := s.Run(t.Context(), env)
			if result.Error != "" || result.Failures != 0 {
				t.Fatalf("%s", result)
			}
			t.Log(result)
			if !result.Bare || result.Turns != 100 || result.ModelCalls != 150 || result.CompletionMillis.Count != 50 || result.OverheadMillis.Count != 100 {
				t.Errorf("measured %+v", result)
			}
			if result.LedgerBytes <= 0 || result.CPUPerTurn() <= 0 || result.PeakRSSBytes <= 0 {
				t.Errorf("something cost nothing: %+v", result)
			}
			if _, measured := result.CPUSeconds["PostgreSQL"]; measured != strings.Contains(s.Name, "-postgres") {
				t.Errorf("the processor time of a server: %v", result.CPUSeconds)
			}
			if profile, err := os.Stat(filepath.Join(env.Profiles, s.Name, "cpu.pprof")); err != nil || profile.Size() == 0 {
				t.Errorf("no profile was saved: %v", err)
			}
		})
	}
}

func TestASmallEndlessRun(t *testing.T) {
	result := Endless(20, false).Run(t.Context(), Environment{Timeout: 5 * time.Minute, Logf: t.Logf})
	if result.Error != "" || result.Failures != 0 || result.Turns != 20 {
		t.Fatalf("%s", result)
	}
	for _, name := range []string{report.FigureLedgerRatio, report.FigureGrowth, "turns/s, first 2", "CPU a turn, last 2", "CPU of the model client alone for such a request, last 2"} {
		if value, ok := result.Figure(name); !ok || value <= 0 {
			t.Errorf("%s is %v (measured: %t): %v", name, value, ok, result.Figures)
		}
	}
}

func TestEndlessComparesTenths(t *testing.T) {
	began := time.Now()
	o := bare.Outcome{UniqueBytes: 4 << 20}
	for i := range 11 {
		o.Samples = append(o.Samples, bare.Sample{At: began.Add(time.Duration(i) * time.Second), CPU: time.Duration(i*i) * 100 * time.Millisecond, Sent: int64(i) << 20})
	}
	got := map[string]float64{}
	for _, f := range endlessFigures(o, 8<<20, 100) {
		got[f.Name] = f.Value
	}
	want := map[string]float64{
		"seen and said, each text once": 4, "ledger": 8, report.FigureLedgerRatio: 2, "compactions": 0, "turns/s, first 100": 100, "turns/s, last 100": 100,
		"CPU a turn, first 100": 1, "CPU a turn, last 100": 19, "sent to the model a turn, first 100": 10.24, "sent to the model a turn, last 100": 10.24, report.FigureGrowth: 19,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
