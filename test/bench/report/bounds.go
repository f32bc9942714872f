// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Writers returns the number of writers with which the bounds are measured.
func (r *Report) Writers() int { return 50 }

// Bound is one of the bounds with its name.
type Bound struct {
	Name string
	Rate float64
}

// Rows returns the measured bounds.
func (b Bounds) Rows() []Bound {
	rows := []Bound{
		{"status PUTs of 2 KB", b.StatusPut2KB}, {"status PUTs of 20 KB", b.StatusPut20KB}, {"status PUTs of 100 KB", b.StatusPut100KB},
		{"creates of 2 KB", b.Create2KB}, {"SQLite rows of 2 KB, synchronous=FULL, 100 in a transaction", b.SQLiteRows2KB},
		{"SQLite rows of 2 KB, synchronous=FULL, one in a transaction", b.SQLiteCommits},
		{"agents that do nothing: the four writes of each, with its watches", b.Agents},
	}
	return slices.DeleteFunc(rows, func(row Bound) bool { return row.Rate == 0 })
}

// String formats the bounds as one line.
func (b Bounds) String() string {
	var parts []string
	for _, row := range b.Rows() {
		parts = append(parts, fmt.Sprintf("%s: %.0f/s", row.Name, row.Rate))
	}
	return strings.Join(parts, "; ")
}

// MaxTurns returns the maximum turns per second of an operator without any cost, for agents with the given number
// of turns.
func (r *Report) MaxTurns(each int) float64 { return r.Bounds.Agents * float64(each) }

// Costs formats the CPU time of the operator and the control plane per agent and per turn, in comparison with agents
// that do nothing; empty if no agents were counted.
func (r *Report) Costs(result Result) string {
	if result.Bare || result.Agents == 0 {
		return ""
	}
	var parts []string
	for _, process := range []string{"operator", "API server", "etcd"} {
		part := fmt.Sprintf("%s %.1f ms an agent", process, result.CPUPerAgent(process))
		if result.Turns > 0 {
			part += fmt.Sprintf(", %.2f ms a turn", 1000*result.CPUSeconds[process]/float64(result.Turns))
		}
		if idle := r.Bounds.AgentMillis[process]; idle > 0 {
			part += fmt.Sprintf(", %.1f x agents that do nothing", result.CPUPerAgent(process)/idle)
		}
		parts = append(parts, part)
	}
	if share := over(over(float64(result.Agents), result.WallSeconds), r.Bounds.Agents); share > 0 {
		parts = append(parts, fmt.Sprintf("%.0f %% of the agents a second that do nothing", 100*share))
	}
	return "CPU: " + strings.Join(parts, "; ")
}

// Shares formats the CPU shares in a scenario; empty if the CPUs were mostly idle.
func (r *Report) Shares(result Result) string {
	const busy = 0.5
	whole := result.WallSeconds * float64(r.Machine.Cores)
	used := maps.Clone(result.CPUSeconds)
	delete(used, "machine")
	total := 0.0
	for _, seconds := range used {
		total += seconds
	}
	if whole == 0 || total < busy*whole {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(used), func(a, b string) int { return cmp.Or(cmp.Compare(used[b], used[a]), cmp.Compare(a, b)) })
	var parts []string
	for _, name := range names {
		if percent := 100 * used[name] / total; percent >= 1 {
			parts = append(parts, fmt.Sprintf("%s %.0f %%", name, percent))
		}
	}
	return fmt.Sprintf("%s: %.0f %% of all processors were busy: %s", result.Name, min(100, 100*total/whole), strings.Join(parts, ", "))
}
