// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// String formats the result as one line.
func (r Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.2f s", r.WallSeconds)
	if r.Bare {
		fmt.Fprintf(&b, ", %.0f turns/s, %.2f ms of CPU and %.2f KB of the ledger a turn, %d MiB, others %.1f s CPU, %d failures",
			r.TurnsPerSecond(), r.CPUPerTurn(), r.LedgerBytesPerTurn()/1024, r.PeakRSSBytes>>20, r.CPUSeconds["others"], r.Failures)
		return b.String() + r.rest()
	}
	if r.Turns > 0 {
		fmt.Fprintf(&b, ", %.0f turns/s, %.2f API writes a turn", r.TurnsPerSecond(), r.WritesPerTurn())
	}
	if d := r.OverheadMillis; d != nil {
		fmt.Fprintf(&b, ", overhead p50 %.1f ms p95 %.1f ms", d.P50, d.P95)
	}
	fmt.Fprintf(&b, ", %.1f writes an agent, operator %.1f s CPU and %d MiB, API server %.1f s CPU, others %.1f s CPU, %d failures",
		r.WritesPerAgent(), r.CPUSeconds["operator"], r.PeakRSSBytes>>20, r.CPUSeconds["API server"], r.CPUSeconds["others"], r.Failures)
	return b.String() + r.rest()
}

// rest formats the scenario's own figures, and its error.
func (r Result) rest() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Latencies)) {
		d := r.Latencies[name]
		fmt.Fprintf(&b, "; %s: p50 %.1f ms p95 %.1f ms of %d", name, d.P50, d.P95, d.Count)
	}
	for _, f := range r.Figures {
		fmt.Fprintf(&b, "; %s %.2f %s", f.Name, f.Value, f.Unit)
	}
	if r.Error != "" {
		first, _, _ := strings.Cut(r.Error, "\n")
		fmt.Fprintf(&b, "; FAILED: %s", first)
	}
	return b.String()
}
