// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"time"

	"github.com/nestor-dev/nestor/internal/money"
)

type Dimension string

const (
	ByNamespace Dimension = "namespace"
	ByChat      Dimension = "chat"
	ByRole      Dimension = "role"
	ByModel     Dimension = "model"
)

// ReportQuery selects a report; without GroupBy and Every, everything in the scope is one row.
type ReportQuery struct {
	Scope
	GroupBy []Dimension
	// Every also groups by time: calls by their start and agents by their creation, in intervals of this length that are counted from
	// 1970 in UTC. It is a multiple of an hour; 0 means one interval. Intervals without rows are not in the report.
	Every time.Duration
}

// Valid reports what is wrong with the query, apart from its dimensions.
func (q ReportQuery) Valid() error {
	if q.Every < 0 || q.Every%time.Hour != 0 {
		return fmt.Errorf("%w: reports cannot be grouped by intervals of %s", ErrInvalid, q.Every)
	}
	return nil
}

// Group identifies a row of a report. Fields that are not in GroupBy are empty.
type Group struct {
	// Start is the start of the interval, in UTC; zero if the report is not grouped by time.
	Start     time.Time
	Namespace string
	Chat      string
	Role      string
	Model     string
}

// Tally counts agents or calls by outcome.
type Tally struct {
	// Total counts all of them, Running those that have not ended, Succeeded those that ended with success, and Cancelled those
	// that a person or a parent cancelled.
	Total     int64
	Running   int64
	Succeeded int64
	Cancelled int64
	// TotalDuration and MaxDuration cover those that have ended, including time spent waiting.
	TotalDuration time.Duration
	MaxDuration   time.Duration
}

// Finished returns the number of those that have ended.
func (t Tally) Finished() int64 { return t.Total - t.Running }

// Failed returns the number of those that ended without success and were not cancelled.
func (t Tally) Failed() int64 { return t.Finished() - t.Succeeded - t.Cancelled }

// SuccessRate returns the share of those that succeeded among those that succeeded or failed; false if there is none.
func (t Tally) SuccessRate() (float64, bool) {
	judged := t.Succeeded + t.Failed()
	if judged == 0 {
		return 0, false
	}
	return float64(t.Succeeded) / float64(judged), true
}

// MeanDuration returns the mean duration of finished ones; false if none has finished.
func (t Tally) MeanDuration() (time.Duration, bool) {
	if t.Finished() == 0 {
		return 0, false
	}
	return t.TotalDuration / time.Duration(t.Finished()), true
}

func (t Tally) Plus(other Tally) Tally {
	return Tally{
		Total: t.Total + other.Total, Running: t.Running + other.Running, Succeeded: t.Succeeded + other.Succeeded, Cancelled: t.Cancelled + other.Cancelled,
		TotalDuration: t.TotalDuration + other.TotalDuration, MaxDuration: max(t.MaxDuration, other.MaxDuration),
	}
}

// CallTotals sums model calls. Tokens and cost are sums of known values; the Unknown counters are the finished calls that are
// missing in them, so that an unknown price is not mistaken for zero.
type CallTotals struct {
	Tally
	PromptTokens      int64
	CachedTokens      int64
	CompletionTokens  int64
	ReasoningTokens   int64
	UnknownTokenCalls int64
	// Costs has no entry for a currency in which no call has a known cost.
	Costs            money.Sums
	UnknownCostCalls int64
}

func (t CallTotals) Plus(other CallTotals) CallTotals {
	return CallTotals{
		Tally: t.Tally.Plus(other.Tally), PromptTokens: t.PromptTokens + other.PromptTokens, CachedTokens: t.CachedTokens + other.CachedTokens,
		CompletionTokens: t.CompletionTokens + other.CompletionTokens, ReasoningTokens: t.ReasoningTokens + other.ReasoningTokens,
		UnknownTokenCalls: t.UnknownTokenCalls + other.UnknownTokenCalls, Costs: t.Costs.Plus(other.Costs),
		UnknownCostCalls: t.UnknownCostCalls + other.UnknownCostCalls,
	}
}

// Usage is the usage of a group in one currency. Calls whose cost is unknown have none, so a group may have several.
type Usage struct {
	Group
	CallTotals
}

type Outcome struct {
	Group
	Tally
}
