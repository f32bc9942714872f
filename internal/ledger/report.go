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

// Tally counts agents or calls, and how they ended.
type Tally struct {
	// Total are all of them, Running those that have not ended, Succeeded those that ended well.
	Total     int64
	Running   int64
	Succeeded int64
	// TotalDuration and MaxDuration are of those that have ended, time spent waiting included.
	TotalDuration time.Duration
	MaxDuration   time.Duration
}

// Finished is how many have ended in any way.
func (t Tally) Finished() int64 { return t.Total - t.Running }

// SuccessRate is the share of the finished that succeeded; false when none has finished.
func (t Tally) SuccessRate() (float64, bool) {
	if t.Finished() == 0 {
		return 0, false
	}
	return float64(t.Succeeded) / float64(t.Finished()), true
}

// MeanDuration is the mean duration of the finished; false when none has finished.
func (t Tally) MeanDuration() (time.Duration, bool) {
	if t.Finished() == 0 {
		return 0, false
	}
	return t.TotalDuration / time.Duration(t.Finished()), true
}

// CallTotals sums model calls. Tokens and cost sum what is known; the Unknown counters say how many finished calls
// are missing from those sums, so that nobody takes an unknown price for a free one.
type CallTotals struct {
	Tally
	PromptTokens      int64
	CachedTokens      int64
	CompletionTokens  int64
	UnknownTokenCalls int64
	CostMicros        int64
	UnknownCostCalls  int64
}

// Usage sums the model calls of a group.
type Usage struct {
	Group
	CallTotals
}

// Outcome counts the agents of a group.
type Outcome struct {
	Group
	Tally
}
