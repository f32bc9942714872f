// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import "testing"

func TestPlus_CostInOneCurrencyOnly(t *testing.T) {
	used := func(cost int64, currency string) Usage {
		return Usage{ModelCalls: 1, CostMicros: &cost, Currency: currency}
	}
	if sum := used(2, "EUR").Plus(used(3, "EUR")); sum.CostMicros == nil || *sum.CostMicros != 5 || sum.Currency != "EUR" {
		t.Errorf("the sum in euros is %+v", sum)
	}
	if sum := (Usage{}).Plus(used(3, "USD")); sum.CostMicros == nil || *sum.CostMicros != 3 || sum.Currency != "USD" {
		t.Errorf("the first cost is %+v", sum)
	}
	mixed := used(2, "EUR").Plus(used(3, "USD"))
	if mixed.CostMicros != nil || mixed.Currency != "" {
		t.Errorf("the sum of euros and dollars is %+v", mixed)
	}
	if after := mixed.Plus(used(3, "USD")); after.CostMicros != nil {
		t.Errorf("a cost after a mixed one is %+v", after)
	}
}
