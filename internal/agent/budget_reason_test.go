// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent/budget"
)

func TestBudgetReasonNamesExceededLimit(t *testing.T) {
	for name, test := range map[string]struct {
		used, reserve budget.Amount
		want          string
	}{
		"tokens":   {budget.Amount{Tokens: 90, CostMicros: 1, Currency: "USD"}, budget.Amount{Tokens: 20, CostMicros: 1, Currency: "USD"}, "used 90 of 100 tokens"},
		"money":    {budget.Amount{Tokens: 1, CostMicros: 45, Currency: "EUR"}, budget.Amount{Tokens: 1, CostMicros: 10, Currency: "EUR"}, "used 0.000045 EUR of 0.00005 EUR"},
		"currency": {budget.Amount{Tokens: 1, CostMicros: 1, Currency: "EUR"}, budget.Amount{Tokens: 1, CostMicros: 1, Currency: "USD"}, "maxCostMicros counts in EUR"},
	} {
		s := State{Budget: budget.Budget{Limit: budget.Amount{Tokens: 100, CostMicros: 50}, Used: test.used}}
		if got := s.budgetReason(test.reserve); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
