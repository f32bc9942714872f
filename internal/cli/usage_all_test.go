// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
)

func TestPeriodsOfNamespacesAreAddedUp(t *testing.T) {
	at := func(day int, period historyv1.UsagePeriod, tokens int64, costs ...historyv1.Cost) historyv1.Usage {
		start := metav1.NewTime(time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC))
		return historyv1.Usage{By: historyv1.UsageTotal, Period: period, StartTime: &start, ModelCalls: historyv1.CallUsage{Tally: historyv1.Tally{Total: 1}, TotalTokens: tokens, Costs: costs}}
	}
	total := historyv1.Usage{By: historyv1.UsageTotal, ModelCalls: historyv1.CallUsage{Tally: historyv1.Tally{Total: 3}, TotalTokens: 60}}
	all := []namespaceUsage{
		{"a", []historyv1.Usage{at(2, historyv1.UsageDay, 10, historyv1.Cost{Currency: "USD", CostMicros: 5}), at(3, historyv1.UsageDay, 50), at(1, historyv1.UsageMonth, 60), total}},
		{"b", []historyv1.Usage{total, at(1, historyv1.UsageDay, 7), at(2, historyv1.UsageDay, 20, historyv1.Cost{Currency: "EUR", CostMicros: 2}, historyv1.Cost{Currency: "USD", CostMicros: 1})}},
	}
	if got := all[0].total(); got.TotalTokens != 60 || got.Total != 3 {
		t.Errorf("a period counts as the total: %+v", got)
	}
	days := sumOfPeriods(all, historyv1.UsageDay)
	if len(days) != 3 || valueOf(days[0]) != "2026-11-01" || valueOf(days[1]) != "2026-11-02" || valueOf(days[2]) != "2026-11-03" {
		t.Fatalf("the days are %+v", days)
	}
	if sum := days[1].ModelCalls; sum.Total != 2 || sum.TotalTokens != 30 || costOf(sum) != "0.000002 EUR + $0.000006" {
		t.Errorf("the sum of a day is %+v, %s", sum, costOf(sum))
	}
	if days[0].ModelCalls.Costs != nil {
		t.Error("an unknown cost became known")
	}
	if months := sumOfPeriods(all, historyv1.UsageMonth); len(months) != 1 || months[0].ModelCalls.TotalTokens != 60 {
		t.Errorf("the months are %+v", months)
	}
}
