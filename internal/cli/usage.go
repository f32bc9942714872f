// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/client/history"
	"github.com/nestor-dev/nestor/internal/diagnose"
	"github.com/nestor-dev/nestor/internal/money"
)

type usageOptions struct {
	all    allNamespaces
	by     []string
	since  time.Duration
	output format
}

func newUsage(f *Factory) *cobra.Command {
	o := usageOptions{}
	cmd := &cobra.Command{
		Use:   "usage [CHAT]",
		Short: "Show usage by role, model and chat",
		Long: dedent(`
			Show the usage of agents (model calls, tokens and cost) by role, by model and by chat, for the whole namespace or for
			one chat; with --by hour, day or month over time, in calendar periods in UTC.

			The figures come from the ledger through history.nestor.dev and include deleted chats. If the cluster does not serve
			that API, they come from the status of existing objects. A cost of "-" is unknown, not zero; a "+" after a cost means
			that the price of some calls is unknown.
		`),
		Example: dedent(`
			# The namespace
			kubectl nestor usage

			# All namespaces
			kubectl nestor usage -A

			# One chat, by role only
			kubectl nestor usage first --by role

			# The last day
			kubectl nestor usage --since 24h

			# Each day of the last week
			kubectl nestor usage --by day --since 168h

			# Each month, in all namespaces
			kubectl nestor usage -A --by month
		`),
		Args:              argCount(0, 1, "at most one name of a chat"),
		ValidArgsFunction: f.firstArg(chats),
		RunE:              f.runE(o.run),
	}
	cmd.Flags().StringSliceVar(&o.by, "by", []string{"role", "model", "chat"}, "Group by role, model, chat, hour, day, month.")
	cmd.Flags().DurationVar(&o.since, "since", 0, "Only calls that started within this time, for example 24h; 0 includes everything.")
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions([]string{"role", "model", "chat", "hour", "day", "month"}, cobra.ShellCompDirectiveNoFileComp))
	o.all.register(cmd)
	o.output.register(cmd)
	cmd.AddCommand(newUsageExport(f))
	return cmd
}

// usagePeriods are the values of --by that divide the usage by time.
var usagePeriods = map[string]historyv1.UsagePeriod{"hour": historyv1.UsageHour, "day": historyv1.UsageDay, "month": historyv1.UsageMonth}

// periodLayouts are how periods are shown.
var periodLayouts = map[historyv1.UsagePeriod]string{historyv1.UsageHour: "2006-01-02 15:04", historyv1.UsageDay: time.DateOnly, historyv1.UsageMonth: "2006-01"}

var dimensions = map[string]historyv1.UsageDimension{
	"role": historyv1.UsageByRole, "model": historyv1.UsageByModel, "chat": historyv1.UsageByChat,
}

func (o *usageOptions) run(ctx context.Context, s *session, args []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	for _, by := range o.by {
		if dimensions[by] == "" && usagePeriods[by] == "" {
			return usagef("--by must be role, model, chat, hour, day or month, not %q", by)
		}
	}
	chat := ""
	if o.all.set && len(args) > 0 {
		return usagef("--all-namespaces shows everything: leave out the name")
	}
	if o.all.set {
		return o.runAll(ctx, s)
	}
	if len(args) == 1 {
		chat = strings.TrimPrefix(args[0], "chat/")
	}
	usages, err := o.read(ctx, s, chat)
	if err != nil {
		return err
	}
	// A deleted chat has usage, and a chat without usage exists: a name with neither is a mistake.
	if chat != "" && o.since == 0 && !hasUsage(usages) {
		if err := s.checkChatExists(ctx, chat); err != nil {
			return err
		}
	}
	if o.output.value != "" {
		return s.printReport(o.output, map[string]any{"items": usages})
	}
	o.print(s, usages)
	return s.printExhausted(ctx)
}

func hasUsage(usages []historyv1.Usage) bool {
	return slices.ContainsFunc(usages, func(u historyv1.Usage) bool { return u.ModelCalls.Total > 0 || u.Runs.Total > 0 })
}

// printExhausted prints the exhausted quotas that runs of the namespace wait for. Users without access to quotas get
// no notice.
func (s *session) printExhausted(ctx context.Context) error {
	exhausted, err := diagnose.Exhausted(ctx, s.api, s.namespace)
	if err != nil && !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err) {
		return err
	}
	for _, q := range exhausted {
		s.noticef("AgentQuota %s is exhausted, and runs wait for it: kubectl get agentquota %s -n %s", q.Name, q.Name, s.namespace)
	}
	return nil
}

// read returns the usage from the history API, or from the status of existing objects.
func (o *usageOptions) read(ctx context.Context, s *session, chat string) ([]historyv1.Usage, error) {
	selectors := fields.Set{}
	if chat != "" {
		selectors[historyv1.FieldUsageChat] = chat
	}
	if o.since > 0 {
		selectors[historyv1.FieldSince] = s.now().Add(-o.since).UTC().Format(time.RFC3339)
	}
	all, err := s.history().Usages(ctx, selectors)
	if errors.Is(err, history.ErrNotServed) {
		s.noticef("%v: the figures come from the status of existing objects; --since and periods are ignored", err)
		return o.fromStatus(ctx, s, chat)
	}
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(u historyv1.Usage) bool { return !o.groupsBy(u.By) })
	for _, by := range o.by {
		if usagePeriods[by] == "" {
			continue
		}
		selectors[historyv1.FieldUsageBy], selectors[historyv1.FieldUsagePeriod] = string(historyv1.UsageTotal), string(usagePeriods[by])
		divided, err := s.history().Usages(ctx, selectors)
		if err != nil {
			return nil, err
		}
		all = append(all, divided...)
	}
	return all, nil
}

func (o *usageOptions) groupsBy(by historyv1.UsageDimension) bool {
	return by == historyv1.UsageTotal || slices.ContainsFunc(o.by, func(name string) bool { return dimensions[name] == by })
}

func (o *usageOptions) fromStatus(ctx context.Context, s *session, chat string) ([]historyv1.Usage, error) {
	if chat != "" {
		if err := s.checkChatExists(ctx, chat); err != nil {
			return nil, err
		}
	}
	now, err := follow.ReadSnapshot(ctx, s.api, follow.Scope{Namespace: s.namespace, Chat: chat})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(now.Usages(), func(u historyv1.Usage) bool { return !o.groupsBy(u.By) }), nil
}

const barWidth = 20

func (o *usageOptions) print(s *session, usages []historyv1.Usage) {
	out, total := s.humanOutput(), totalOf(usages)
	printTotal(out, total)
	for _, by := range o.by {
		shown := slices.DeleteFunc(slices.Clone(usages), func(u historyv1.Usage) bool {
			return u.Period != usagePeriods[by] || (u.Period == "" && u.By != dimensions[by])
		})
		printUsages(out, by, shown, total)
	}
}

// totalOf returns the usage of the whole namespace or chat.
func totalOf(usages []historyv1.Usage) historyv1.CallUsage {
	for _, u := range usages {
		if u.By == historyv1.UsageTotal && u.Period == "" {
			return u.ModelCalls
		}
	}
	return historyv1.CallUsage{}
}

func printTotal(out io.Writer, total historyv1.CallUsage) {
	fmt.Fprintf(out, "%s model calls, %s tokens (%s in, %s out), cost %s\n", terminal.Count(total.Total), terminal.Count(total.TotalTokens),
		terminal.Count(total.PromptTokens), terminal.Count(total.CompletionTokens), costOf(total))
}

// printUsages prints the usages of a value of --by as a table, unless there are none.
func printUsages(out io.Writer, by string, usages []historyv1.Usage, total historyv1.CallUsage) {
	table := terminal.Table{Heading: []string{strings.ToUpper(by), "CALLS", "TOKENS", "COST", ""}}
	for _, u := range usages {
		if u.ModelCalls.Total == 0 {
			continue // runs of tools
		}
		table.Rows = append(table.Rows, []string{
			valueOf(u), terminal.Count(u.ModelCalls.Total), terminal.Count(u.ModelCalls.TotalTokens), costOf(u.ModelCalls),
			terminal.Busy.Render(terminal.Bar(u.ModelCalls.TotalTokens, total.TotalTokens, barWidth)),
		})
	}
	if len(table.Rows) > 0 {
		fmt.Fprintln(out)
		table.Print(out)
	}
}

func valueOf(u historyv1.Usage) string {
	if u.StartTime != nil {
		return u.StartTime.UTC().Format(periodLayouts[u.Period])
	}
	if u.Value != "" {
		return terminal.Line(u.Value)
	}
	switch u.By {
	case historyv1.UsageByChat:
		return "(standalone tasks)"
	case historyv1.UsageByModel:
		return "(the provider's default)"
	}
	return "(none)"
}

func costOf(c historyv1.CallUsage) string {
	if len(c.Costs) == 0 {
		return terminal.Cost(nil, "")
	}
	sums := money.Sums{}
	for _, cost := range c.Costs {
		sums[cost.Currency] += cost.CostMicros
	}
	if c.UnknownCostCalls > 0 {
		return sums.String() + "+"
	}
	return sums.String()
}
