// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package report is what a benchmark found: its types, and how they become a page, a plot and a comparison.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Report is one run of the benchmark.
type Report struct {
	At      time.Time `json:"at"`
	Version string    `json:"version"`
	Ledger  string    `json:"ledger"`
	// OperatorFlags are those that are not the default.
	OperatorFlags string   `json:"operatorFlags,omitempty"`
	Machine       Machine  `json:"machine"`
	Bounds        Bounds   `json:"bounds"`
	Results       []Result `json:"results"`
}

// Machine is what everything ran on.
type Machine struct {
	Processor   string `json:"processor"`
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memoryBytes"`
	Kernel      string `json:"kernel"`
	Go          string `json:"go"`
	// Load is the load average of the last minute before the run: what others did on the machine.
	Load float64 `json:"load"`
}

// Bounds are what the control plane and the disk of this run can do at most, in operations a second.
type Bounds struct {
	StatusPut2KB   float64 `json:"statusPut2KB"`
	StatusPut20KB  float64 `json:"statusPut20KB"`
	StatusPut100KB float64 `json:"statusPut100KB"`
	Create2KB      float64 `json:"create2KB"`
	SQLiteRows2KB  float64 `json:"sqliteRows2KB"`
	// SQLiteCommits are of one row each, one after the other.
	SQLiteCommits float64 `json:"sqliteCommits"`
	// Agents begin and end with the writes that each costs, and do nothing.
	Agents float64 `json:"agents"`
}

// Result is what one scenario came to.
type Result struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Agents, ToolTurns (of each agent) and LatencyMillis (of the model) are what was asked for.
	Agents        int     `json:"agents"`
	ToolTurns     int     `json:"toolTurns"`
	LatencyMillis float64 `json:"latencyMillis"`
	// Bare says that the engine and the ledger ran alone, without Kubernetes.
	Bare bool `json:"bare,omitempty"`
	// Error says why the scenario could not be measured. What was measured before it stands.
	Error string `json:"error,omitempty"`
	// Failures counts agents that did not end as they should, and calls of models and tools that failed.
	Failures int `json:"failures"`
	// WallSeconds is from the first create to the last end that a watch showed. Turns are the tool turns that were made.
	WallSeconds float64 `json:"wallSeconds"`
	Turns       int64   `json:"turns"`
	// ModelCalls are all of those that ended well: the last call of each agent, which submits the result, is no tool turn.
	ModelCalls int64 `json:"modelCalls"`
	// OverheadMillis is the time of a turn beyond the model's latency, CompletionMillis the time from a create to its end.
	OverheadMillis   *Distribution `json:"overheadMillis,omitempty"`
	CompletionMillis *Distribution `json:"completionMillis,omitempty"`
	// Latencies are those of scenarios that measure something else than turns, by name, in milliseconds.
	Latencies map[string]*Distribution `json:"latencies,omitempty"`
	// Writes counts the API server's requests that write, by verb and resource; Created of them are the driver's own.
	Writes  map[string]int64 `json:"writes,omitempty"`
	Created int64            `json:"created"`
	// LedgerBytes and EtcdBytes are by how much they grew.
	LedgerBytes int64 `json:"ledgerBytes"`
	EtcdBytes   int64 `json:"etcdBytes"`
	// CPUSeconds is by process. PeakRSSBytes is the operator's.
	CPUSeconds   map[string]float64 `json:"cpuSeconds,omitempty"`
	PeakRSSBytes int64              `json:"peakRSSBytes"`
	// Figures are those that only this scenario has.
	Figures []Figure `json:"figures,omitempty"`
}

// Figure is a measurement that is not common to all scenarios.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Figure finds a figure by its name.
func (r Result) Figure(name string) (float64, bool) {
	for _, f := range r.Figures {
		if f.Name == name {
			return f.Value, true
		}
	}
	return 0, false
}

// TurnsPerSecond is the throughput over the whole wall time, creates included.
func (r Result) TurnsPerSecond() float64 { return over(float64(r.Turns), r.WallSeconds) }

// CallsPerSecond is the throughput if all calls of the model count, as other projects count turns.
func (r Result) CallsPerSecond() float64 { return over(float64(r.ModelCalls), r.WallSeconds) }

// CPUPerTurn is the processor time of the operator for a turn, or that of the engine where it ran alone, in milliseconds.
func (r Result) CPUPerTurn() float64 {
	return 1000 * over(r.CPUSeconds["operator"]+r.CPUSeconds["engine"], float64(r.Turns))
}

// AllWrites counts the writes to the API server, the driver's included.
func (r Result) AllWrites() int64 {
	sum := int64(0)
	for _, n := range r.Writes {
		sum += n
	}
	return sum
}

// WritesPerTurn leaves the driver's creates out.
func (r Result) WritesPerTurn() float64 {
	return over(float64(r.AllWrites()-r.Created), float64(r.Turns))
}

// WritesPerAgent includes the create of the agent's task.
func (r Result) WritesPerAgent() float64 { return over(float64(r.AllWrites()), float64(r.Agents)) }

// LedgerBytesPerTurn is what a turn leaves in the ledger.
func (r Result) LedgerBytesPerTurn() float64 { return over(float64(r.LedgerBytes), float64(r.Turns)) }

// MarshalJSON adds the figures that follow from the others.
func (r Result) MarshalJSON() ([]byte, error) {
	type plain Result
	return json.Marshal(struct {
		plain
		TurnsPerSecond     float64 `json:"turnsPerSecond"`
		WritesPerTurn      float64 `json:"writesPerTurn"`
		WritesPerAgent     float64 `json:"writesPerAgent"`
		LedgerBytesPerTurn float64 `json:"ledgerBytesPerTurn"`
	}{plain(r), r.TurnsPerSecond(), r.WritesPerTurn(), r.WritesPerAgent(), r.LedgerBytesPerTurn()})
}

func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Read reads a report from its JSON file.
func Read(path string) (*Report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	var r Report
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("read the report %s: %w", path, err)
	}
	return &r, nil
}

// Write writes NAME.json, NAME.md and NAME.svg into a directory.
func (r *Report) Write(dir, name string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".json"), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return r.WritePage(filepath.Join(dir, name+".md"))
}
