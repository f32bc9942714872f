// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"

	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/money"
)

// total is a sum of amounts that are also subtracted again, so money is kept for each currency.
type total struct {
	tokens, tasks, writes int64
	// micros is money by currency, without zeros.
	micros map[string]int64
}

func newTotal(a budget.Amount) total {
	return total{tokens: a.Tokens, tasks: a.Tasks, writes: a.Writes, micros: plusMicros(nil, a.Currency, a.CostMicros)}
}

func (t total) plus(other total) total { return t.combine(other, 1) }

func (t total) minus(other total) total { return t.combine(other, -1) }

func (t total) combine(other total, factor int64) total {
	t.tokens, t.tasks, t.writes = t.tokens+factor*other.tokens, t.tasks+factor*other.tasks, t.writes+factor*other.writes
	for currency, micros := range other.micros {
		t.micros = plusMicros(t.micros, currency, factor*micros)
	}
	return t
}

// amount returns the sum. That of several currencies is none that a limit allows.
func (t total) amount() budget.Amount {
	a := budget.Amount{Tokens: t.tokens, Tasks: t.tasks, Writes: t.writes}
	for currency, micros := range t.micros {
		a.Currency = money.Join(a.CostMicros, a.Currency, micros, currency)
		a.CostMicros += micros
	}
	return a
}

// plusMicros returns a changed copy, unless there is nothing to add: totals are values.
func plusMicros(sums map[string]int64, currency string, micros int64) map[string]int64 {
	if micros == 0 {
		return sums
	}
	sums = maps.Clone(sums)
	if sums == nil {
		sums = map[string]int64{}
	}
	if sums[currency] += micros; sums[currency] == 0 {
		delete(sums, currency)
	}
	return sums
}
