// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"strings"
	"testing"
)

func TestBudgetReasonNamesTheExceededLimit(t *testing.T) {
	for name, test := range map[string]struct {
		used, reserve Amount
		want          string
	}{
		"tokens": {Amount{Tokens: 90, CostMicros: 1}, Amount{Tokens: 20, CostMicros: 1}, "used 90 of 100 tokens"},
		"money":  {Amount{Tokens: 1, CostMicros: 45}, Amount{Tokens: 1, CostMicros: 10}, "used 45 of 50 millionths"},
	} {
		s := State{Budget: Budget{Limit: Amount{Tokens: 100, CostMicros: 50}, Used: test.used}}
		if got := s.budgetReason(test.reserve); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
