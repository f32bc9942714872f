// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// noiseThreshold is the usual difference between two runs of the same program on a busy machine; smaller changes are not
// rated.
const noiseThreshold = 0.10

// measure is a figure of the comparison.
type measure struct {
	name string
	of   func(Result) float64
	// more means that higher is better.
	more bool
}

var measures = []measure{
	{"wall, s", func(r Result) float64 { return r.WallSeconds }, false},
	{"turns/s", Result.TurnsPerSecond, true},
	{"overhead p50, ms", median, false},
	{"overhead p95, ms", p95Overhead, false},
	{"API writes/turn", Result.WritesPerTurn, false},
	{"API writes/agent", Result.WritesPerAgent, false},
	{"ledger bytes/turn", Result.LedgerBytesPerTurn, false},
	{"model calls/s", Result.CallsPerSecond, true},
	{"CPU/turn, ms", Result.CPUPerTurn, false},
	{"operator CPU, s", func(r Result) float64 { return r.CPUSeconds["operator"] }, false},
	{"API server CPU, s", func(r Result) float64 { return r.CPUSeconds["API server"] }, false},
	{"peak memory, MiB", func(r Result) float64 { return float64(r.PeakRSSBytes) / (1 << 20) }, false},
	{"failures", func(r Result) float64 { return float64(r.Failures) }, false},
}

// Compare returns a Markdown comparison of two reports, scenario by scenario.
func Compare(older, newer *Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s compared with %s\n\n", newer.Version, older.Version)
	if older.Machine.Processor != newer.Machine.Processor || older.Machine.Cores != newer.Machine.Cores || older.Ledger != newer.Ledger || older.OperatorFlags != newer.OperatorFlags {
		b.WriteString("**The reports are of different machines, ledgers or flags of the operator.**\n\n")
	}
	b.WriteString("| bound | old, /s | new, /s | change |\n|---|---|---|---|\n")
	olderBounds := map[string]float64{}
	for _, bound := range older.Bounds.Rows() {
		olderBounds[bound.Name] = bound.Rate
	}
	for _, bound := range newer.Bounds.Rows() {
		before := olderBounds[bound.Name]
		fmt.Fprintf(&b, "| %s | %.0f | %.0f | %s |\n", bound.Name, before, bound.Rate, change(before, bound.Rate))
	}
	b.WriteString("\nA change below 10 % is not judged: the machine's own bounds above change as much.\n\n")
	b.WriteString("| scenario | figure | old | new | change | |\n|---|---|---|---|---|---|\n")
	for _, now := range newer.Results {
		before, ok := older.result(now.Name)
		if !ok {
			fmt.Fprintf(&b, "| %s | | | | only in the new report | |\n", now.Name)
			continue
		}
		compareResults(&b, before, now)
		if x, y := over(before.TurnsPerSecond(), older.Bounds.StatusPut2KB), over(now.TurnsPerSecond(), newer.Bounds.StatusPut2KB); x > 0 && y > 0 && !now.Bare {
			fmt.Fprintf(&b, "| %s | turns/s ÷ bound | %.4g | %.4g | %s | %s |\n", now.Name, x, y, change(x, y), rate(x, y, true))
		}
	}
	for _, before := range older.Results {
		if _, ok := newer.result(before.Name); !ok {
			fmt.Fprintf(&b, "| %s | | | | only in the old report | |\n", before.Name)
		}
	}
	return b.String()
}

func compareResults(b *strings.Builder, before, now Result) {
	if before.Error != "" || now.Error != "" {
		fmt.Fprintf(b, "| %s | measured | %s | %s | | |\n", now.Name, measuredText(before), measuredText(now))
	}
	for _, m := range measures {
		x, y := m.of(before), m.of(now)
		if x == 0 && y == 0 {
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %.4g | %.4g | %s | %s |\n", now.Name, m.name, x, y, change(x, y), rate(x, y, m.more))
	}
	for _, name := range slices.Sorted(maps.Keys(now.Latencies)) {
		if x, y := before.Latencies[name], now.Latencies[name]; x != nil && y != nil {
			fmt.Fprintf(b, "| %s | %s, p95, ms | %.4g | %.4g | %s | %s |\n", now.Name, name, x.P95, y.P95, change(x.P95, y.P95), rate(x.P95, y.P95, false))
		}
	}
	for _, f := range now.Figures {
		if x, ok := before.Figure(f.Name); ok {
			fmt.Fprintf(b, "| %s | %s, %s | %.4g | %.4g | %s | |\n", now.Name, f.Name, f.Unit, x, f.Value, change(x, f.Value))
		}
	}
}

func measuredText(r Result) string {
	if r.Error != "" {
		return "failed"
	}
	return "yes"
}

func change(x, y float64) string {
	if x == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.0f %%", 100*(y-x)/x)
}

func rate(x, y float64, more bool) string {
	if math.Abs(y-x) <= noiseThreshold*math.Abs(x) {
		return ""
	}
	if (y > x) == more {
		return "better"
	}
	return "**worse**"
}
