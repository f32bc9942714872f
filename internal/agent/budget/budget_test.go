// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/money"
)

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

// Whatever calls of whatever currencies are reserved and settled, what is counted below a limit of money is one amount within the limit.
func TestMoneyIsCountedInOneCurrency(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Budget{Limit: Amount{CostMicros: 100}}
		var open []Amount
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			if len(open) > 0 && rapid.Bool().Draw(t, "settle") {
				call := open[0]
				open = open[1:]
				b = b.Settle(call, Amount{Tokens: call.Tokens, CostMicros: rapid.Int64Range(0, call.CostMicros).Draw(t, "used"), Currency: call.Currency})
			} else {
				call := Amount{Tokens: 1, Currency: rapid.SampledFrom([]string{"", "EUR", "USD"}).Draw(t, "currency")}
				if call.Currency != "" {
					call.CostMicros = rapid.Int64Range(0, 60).Draw(t, "cost")
				}
				after, ok := b.Reserve(call)
				if ok {
					open = append(open, call)
				}
				if ok && call.Currency == "" {
					t.Fatal("a call without a price was reserved")
				}
				if problem := b.PriceProblem(call); ok && problem != "" {
					t.Fatalf("reserved in spite of %q", problem)
				}
				b = after
			}
			if sum := b.Used.Plus(b.Reserved); sum.Currency == money.Several || sum.CostMicros > 100 || (sum.Currency == "") != (sum.CostMicros == 0) {
				t.Fatalf("%+v is counted", sum)
			}
		}
	})
}

func TestPriceProblem(t *testing.T) {
	limited := Budget{Limit: Amount{CostMicros: 100}}
	used := func(b Budget, currencies ...string) Budget {
		for _, currency := range currencies {
			b.Used = b.Used.Plus(Amount{Tokens: 1, CostMicros: 1, Currency: currency})
		}
		return b
	}
	for name, tc := range map[string]struct {
		budget Budget
		next   string
		want   []string // none: it may start
	}{
		"the first call":              {limited, "EUR", nil},
		"the same currency":           {used(limited, "EUR"), "EUR", nil},
		"another currency":            {used(limited, "EUR"), "USD", []string{"counts in EUR", "is in USD"}},
		"no price":                    {used(limited, "EUR"), "", []string{"the price of the model is unknown"}},
		"no price at first":           {limited, "", []string{"the price of the model is unknown"}},
		"a limit that came later":     {used(limited, "EUR", "USD"), "USD", []string{"several currencies"}},
		"no limit":                    {used(Budget{}, "EUR"), "USD", nil},
		"no limit and no price":       {used(Budget{}, "EUR"), "", nil},
		"only a limit of tokens":      {used(Budget{Limit: Amount{Tokens: 9}}, "EUR", "USD"), "USD", nil},
		"a currency that is reserved": {Budget{Limit: Amount{CostMicros: 100}, Reserved: Amount{CostMicros: 1, Currency: "EUR"}}, "USD", []string{"EUR", "USD"}},
	} {
		t.Run(name, func(t *testing.T) {
			call := Amount{Tokens: 1, CostMicros: 1, Currency: tc.next}
			problem := tc.budget.PriceProblem(call)
			if _, ok := tc.budget.Reserve(call); ok != (tc.want == nil) || (problem == "") != ok {
				t.Fatalf("reserved: %v, problem: %q", ok, problem)
			}
			for _, words := range tc.want {
				if !strings.Contains(problem, words) {
					t.Errorf("%q does not contain %q", problem, words)
				}
			}
		})
	}
}
