// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

type namespaceUsage struct {
	Namespace string            `json:"namespace"`
	Items     []historyv1.Usage `json:"items"`
}

func (n namespaceUsage) total() historyv1.CallUsage { return totalOf(n.Items) }

func (o *usageOptions) runAll(ctx context.Context, s *session) error {
	var list corev1.NamespaceList
	if err := s.api.List(ctx, &list); err != nil {
		return fmt.Errorf("list the namespaces: %w", err)
	}
	all := []namespaceUsage{}
	for _, namespace := range list.Items {
		in := *s
		in.namespace = namespace.Name
		usages, err := o.read(ctx, &in, "")
		if err != nil {
			return fmt.Errorf("namespace %s: %w", namespace.Name, err)
		}
		if used := (namespaceUsage{namespace.Name, usages}); used.total().Total > 0 {
			all = append(all, used)
		}
	}
	slices.SortStableFunc(all, func(a, b namespaceUsage) int { return cmp.Compare(b.total().TotalTokens, a.total().TotalTokens) })
	if o.output.value != "" {
		return s.printReport(o.output, map[string]any{"items": all})
	}
	var sum historyv1.CallUsage
	for _, n := range all {
		addUsage(&sum, n.total())
	}
	s.printNamespaceUsages(all, sum)
	for _, by := range o.by {
		if period := usagePeriods[by]; period != "" {
			printUsages(s.humanOutput(), by, sumOfPeriods(all, period), sum)
		}
	}
	return nil
}

// sumOfPeriods adds the usages of the namespaces in each period, oldest first.
func sumOfPeriods(all []namespaceUsage, period historyv1.UsagePeriod) []historyv1.Usage {
	sums := map[int64]historyv1.Usage{}
	for _, n := range all {
		for _, u := range n.Items {
			if u.Period != period || u.StartTime == nil {
				continue
			}
			sum := sums[u.StartTime.Unix()]
			sum.By, sum.Period, sum.StartTime = u.By, period, u.StartTime
			addUsage(&sum.ModelCalls, u.ModelCalls)
			sums[u.StartTime.Unix()] = sum
		}
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b historyv1.Usage) int { return a.StartTime.Compare(b.StartTime.Time) })
}

func (s *session) printNamespaceUsages(all []namespaceUsage, sum historyv1.CallUsage) {
	out := s.humanOutput()
	printTotal(out, sum)
	if len(all) == 0 {
		return
	}
	table := terminal.Table{Heading: []string{"NAMESPACE", "CALLS", "TOKENS", "COST", ""}}
	for _, n := range all {
		u := n.total()
		table.Rows = append(table.Rows, []string{
			n.Namespace, terminal.Count(u.Total), terminal.Count(u.TotalTokens), costOf(u), terminal.Busy.Render(terminal.Bar(u.TotalTokens, sum.TotalTokens, barWidth)),
		})
	}
	fmt.Fprintln(out)
	table.Print(out)
}

// addUsage adds a usage to a sum. A cost that is unknown everywhere stays unknown.
func addUsage(sum *historyv1.CallUsage, u historyv1.CallUsage) {
	sum.Total += u.Total
	sum.PromptTokens += u.PromptTokens
	sum.CompletionTokens += u.CompletionTokens
	sum.TotalTokens += u.TotalTokens
	sum.UnknownCostCalls += u.UnknownCostCalls
	view.AddCosts(sum, u.Costs...)
}
