// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package report has the results of a benchmark, and renders them as a page, a plot and a comparison.
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
	// OperatorFlags are the non-default flags.
	OperatorFlags string   `json:"operatorFlags,omitempty"`
	Machine       Machine  `json:"machine"`
	Bounds        Bounds   `json:"bounds"`
	Results       []Result `json:"results"`
}

// Machine describes the machine of a run.
type Machine struct {
	Processor   string `json:"processor"`
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memoryBytes"`
	Kernel      string `json:"kernel"`
	Go          string `json:"go"`
	// Load is the load average of the last minute before the run.
	Load float64 `json:"load"`
}

// Bounds are the maximum performance of the control plane and the disk in this run, in operations per second.
type Bounds struct {
	StatusPut2KB   float64 `json:"statusPut2KB"`
	StatusPut20KB  float64 `json:"statusPut20KB"`
	StatusPut100KB float64 `json:"statusPut100KB"`
	Create2KB      float64 `json:"create2KB"`
	SQLiteRows2KB  float64 `json:"sqliteRows2KB"`
	// SQLiteCommits are sequential commits of one row each.
	SQLiteCommits float64 `json:"sqliteCommits"`
	// Agents start and end with the writes of a real agent, but do nothing. AgentMillis is the CPU time of each, by
	// process.
	Agents      float64            `json:"agents"`
	AgentMillis map[string]float64 `json:"agentMillis,omitempty"`
}

// Result is the result of one scenario.
type Result struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Agents, ToolTurns (of each agent) and LatencyMillis (of the model) are the scenario's parameters.
	Agents        int     `json:"agents"`
	ToolTurns     int     `json:"toolTurns"`
	LatencyMillis float64 `json:"latencyMillis"`
	// Bare means that the engine and the ledger ran alone, without Kubernetes.
	Bare bool `json:"bare,omitempty"`
	// Error is the reason why the scenario failed. Earlier measurements are kept.
	Error string `json:"error,omitempty"`
	// Failures counts agents with a wrong outcome, and failed model and tool calls.
	Failures int `json:"failures"`
	// WallSeconds is the time from the first create to the last observed end. Turns is the number of tool turns.
	WallSeconds float64 `json:"wallSeconds"`
	Turns       int64   `json:"turns"`
	// ModelCalls counts all successful calls, including the last call of each agent, which submits the result and is
	// not a tool turn.
	ModelCalls int64 `json:"modelCalls"`
	// OverheadMillis is the time of a turn beyond the model's latency, CompletionMillis the time from a create to its
	// end.
	OverheadMillis   *Distribution `json:"overheadMillis,omitempty"`
	CompletionMillis *Distribution `json:"completionMillis,omitempty"`
	// Latencies are the results of scenarios that do not measure turns, by name, in milliseconds.
	Latencies map[string]*Distribution `json:"latencies,omitempty"`
	// Writes counts the write requests to the API server by verb and resource, of which Created are the driver's own.
	Writes  map[string]int64 `json:"writes,omitempty"`
	Created int64            `json:"created"`
	// LedgerBytes and EtcdBytes are the growth in bytes.
	LedgerBytes int64 `json:"ledgerBytes"`
	EtcdBytes   int64 `json:"etcdBytes"`
	// CPUSeconds is by process. PeakRSSBytes is the operator's.
	CPUSeconds   map[string]float64 `json:"cpuSeconds,omitempty"`
	PeakRSSBytes int64              `json:"peakRSSBytes"`
	// Figures are specific to this scenario.
	Figures []Figure `json:"figures,omitempty"`
}

// Figure is a measurement that not all scenarios have.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Figure returns the figure with a name.
func (r Result) Figure(name string) (float64, bool) {
	for _, f := range r.Figures {
		if f.Name == name {
			return f.Value, true
		}
	}
	return 0, false
}

// TurnsPerSecond returns the throughput over the whole wall time, including creates.
func (r Result) TurnsPerSecond() float64 { return over(float64(r.Turns), r.WallSeconds) }

// CallsPerSecond returns the throughput of model calls, which other projects count as turns.
func (r Result) CallsPerSecond() float64 { return over(float64(r.ModelCalls), r.WallSeconds) }

// CPUPerTurn returns the CPU time of the operator per turn, or that of the engine if it ran alone, in milliseconds.
func (r Result) CPUPerTurn() float64 {
	return 1000 * over(r.CPUSeconds["operator"]+r.CPUSeconds["engine"], float64(r.Turns))
}

// CPUPerAgent returns the CPU time of a process per agent, in milliseconds.
func (r Result) CPUPerAgent(process string) float64 {
	return 1000 * over(r.CPUSeconds[process], float64(r.Agents))
}

// AllWrites returns the number of writes to the API server, including the driver's.
func (r Result) AllWrites() int64 {
	sum := int64(0)
	for _, n := range r.Writes {
		sum += n
	}
	return sum
}

// WritesPerTurn returns the writes per turn without the driver's creates.
func (r Result) WritesPerTurn() float64 {
	return over(float64(r.AllWrites()-r.Created), float64(r.Turns))
}

// WritesPerAgent returns the writes per agent, including the create of its task.
func (r Result) WritesPerAgent() float64 { return over(float64(r.AllWrites()), float64(r.Agents)) }

// LedgerBytesPerTurn returns the growth of the ledger per turn.
func (r Result) LedgerBytesPerTurn() float64 { return over(float64(r.LedgerBytes), float64(r.Turns)) }

// MarshalJSON adds the derived figures.
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
