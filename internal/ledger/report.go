// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import "time"

// Dimension is what a report can be grouped by.
type Dimension string

// The dimensions of reports.
const (
	ByNamespace Dimension = "namespace"
	ByChat      Dimension = "chat"
	ByRole      Dimension = "role"
	ByModel     Dimension = "model"
)

// ReportQuery asks for a report; without GroupBy everything in the scope becomes one row.
type ReportQuery struct {
	Scope
	GroupBy []Dimension
}

// Group says what a row of a report is about. Fields that the query does not group by are empty.
type Group struct {
	Namespace string
	Chat      string
	Role      string
	Model     string
}

// Usage sums the model calls of a group.
type Usage struct {
	Group
	CallTotals
}

// CallTotals sums model calls. Tokens and cost sum what is known; the Unknown counters say how many finished calls
// are missing from those sums, so that nobody takes an unknown price for a free one.
type CallTotals struct {
	Calls     int64
	Running   int64
	Succeeded int64

	PromptTokens      int64
	CachedTokens      int64
	CompletionTokens  int64
	UnknownTokenCalls int64
	CostMicros        int64
	UnknownCostCalls  int64

	// TotalDuration and MaxDuration are of finished calls.
	TotalDuration time.Duration
	MaxDuration   time.Duration
}

// Finished is the number of calls that have ended in any way.
func (t CallTotals) Finished() int64 { return t.Calls - t.Running }

// SuccessRate is the share of finished calls that succeeded; false when none has finished.
func (t CallTotals) SuccessRate() (float64, bool) { return rate(t.Succeeded, t.Finished()) }

// MeanDuration is the mean duration of finished calls; false when none has finished.
func (t CallTotals) MeanDuration() (time.Duration, bool) { return mean(t.TotalDuration, t.Finished()) }

// Outcome sums the agents of a group.
type Outcome struct {
	Group
	Agents    int64
	Live      int64
	Succeeded int64
	// TotalDuration and MaxDuration are of finished agents, from creation to end, time spent waiting included.
	TotalDuration time.Duration
	MaxDuration   time.Duration
}

// Finished is the number of agents that have ended in any way.
func (o Outcome) Finished() int64 { return o.Agents - o.Live }

// SuccessRate is the share of finished agents that succeeded; false when none has finished.
func (o Outcome) SuccessRate() (float64, bool) { return rate(o.Succeeded, o.Finished()) }

// MeanDuration is the mean duration of finished agents; false when none has finished.
func (o Outcome) MeanDuration() (time.Duration, bool) { return mean(o.TotalDuration, o.Finished()) }

func rate(part, whole int64) (float64, bool) {
	if whole == 0 {
		return 0, false
	}
	return float64(part) / float64(whole), true
}

func mean(total time.Duration, count int64) (time.Duration, bool) {
	if count == 0 {
		return 0, false
	}
	return total / time.Duration(count), true
}
