// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
)

func TestUsageAsRows(t *testing.T) {
	day := metav1.NewTime(time.Date(2026, 11, 18, 0, 0, 0, 0, time.UTC))
	usage := func(namespace, chat, model string, calls historyv1.CallUsage) historyv1.Usage {
		u := historyv1.Usage{By: historyv1.UsageByEach, Chat: chat, Role: "coder", Model: model, Period: historyv1.UsageDay, StartTime: &day, ModelCalls: calls}
		u.Namespace = namespace
		return u
	}
	usages := []historyv1.Usage{
		usage("a", "first", "small", historyv1.CallUsage{
			Tally: historyv1.Tally{Total: 3, Failed: 1}, PromptTokens: 70, CachedTokens: 20, CompletionTokens: 30, ReasoningTokens: 10,
			Costs: []historyv1.Cost{{Currency: "EUR", CostMicros: 42}, {Currency: "USD", CostMicros: 1_500_000}},
		}),
		usage("a", "", "large, new", historyv1.CallUsage{Tally: historyv1.Tally{Total: 2}, UnknownCostCalls: 2, PromptTokens: 5}),
		usage("b", "", "=HYPERLINK(1)", historyv1.CallUsage{Tally: historyv1.Tally{Total: 1}}),
		usage("b", "tools-only", "", historyv1.CallUsage{}),
	}
	values := map[types.NamespacedName]string{{Namespace: "a", Name: "first"}: "research", {Namespace: "a"}: "platform"}
	var out strings.Builder
	if err := writeUsages(&out, usages, "team", values); err != nil {
		t.Fatal(err)
	}
	want := `day,namespace,chat,role,model,currency,cost,calls,failed_calls,unpriced_calls,prompt_tokens,cached_tokens,completion_tokens,reasoning_tokens,team
2026-11-18,a,first,coder,small,EUR,0.000042,3,1,0,70,20,30,10,research
2026-11-18,a,first,coder,small,USD,1.500000,0,0,0,0,0,0,0,research
2026-11-18,a,,coder,"large, new",,,2,0,2,5,0,0,0,platform
2026-11-18,b,,coder,'=HYPERLINK(1),,,1,0,0,0,0,0,0,
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
