// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/history"
)

type usageExportOptions struct {
	all    allNamespaces
	label  string
	since  time.Duration
	output string
}

func newUsageExport(f *Factory) *cobra.Command {
	o := usageExportOptions{}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Export usage and cost for a spreadsheet or a billing system",
		Long: dedent(`
			Export the usage of model calls as CSV: a row for each day (UTC), namespace, chat, role, model and currency, with an
			empty chat for standalone tasks. Calls without a known price are in the column unpriced_calls. If a row has costs in
			several currencies, each further currency has a row of its own with no calls and tokens, so that columns can be added up.
			The name of a model that a spreadsheet would take for a formula begins with an apostrophe.

			With --label, a column has the value of that label of the chat, or else of the namespace, as it is now.
		`),
		Example: dedent(`
			# The namespace
			kubectl nestor usage export > usage.csv

			# The last 30 days of all namespaces, with the cost centre of each
			kubectl nestor usage export -A --since 720h --label cost-centre > usage.csv
		`),
		Args: argCount(0, 0, "no arguments"),
		RunE: f.runE(o.run),
	}
	cmd.Flags().StringVar(&o.label, "label", "", "A label of chats and namespaces, for a column of its own.")
	cmd.Flags().DurationVar(&o.since, "since", 0, "Only calls that started within this time, for example 720h; 0 includes everything.")
	cmd.Flags().StringVarP(&o.output, "output", "o", "csv", "Output format: csv.")
	o.all.register(cmd)
	return cmd
}

func (o *usageExportOptions) run(ctx context.Context, s *session, _ []string) error {
	if o.output != "csv" {
		return usagef("unknown output format %q: use -o csv", o.output)
	}
	namespace := s.namespace
	if o.all.set {
		namespace = ""
	}
	selectors := fields.Set{historyv1.FieldUsageBy: string(historyv1.UsageByEach), historyv1.FieldUsagePeriod: string(historyv1.UsageDay)}
	if o.since > 0 {
		selectors[historyv1.FieldSince] = s.now().Add(-o.since).UTC().Format(time.RFC3339)
	}
	usages, err := history.NewReader(s.config, s.api, namespace).Usages(ctx, selectors)
	if err != nil {
		return err
	}
	values := map[types.NamespacedName]string{}
	if o.label != "" {
		if values, err = s.labelValues(ctx, namespace, o.label); err != nil {
			return err
		}
	}
	return writeUsages(s.machineOutput(), usages, o.label, values)
}

// labelValues returns the values of a label by chat, and with an empty name by namespace. A person who may not list namespaces gets those of
// chats.
func (s *session) labelValues(ctx context.Context, namespace, label string) (map[types.NamespacedName]string, error) {
	values := map[types.NamespacedName]string{}
	var chats v1beta1.AgentChatList
	if err := s.api.List(ctx, &chats, client.InNamespace(namespace), client.HasLabels{label}); err != nil {
		return nil, fmt.Errorf("list the chats: %w", err)
	}
	for _, c := range chats.Items {
		values[client.ObjectKeyFromObject(&c)] = c.Labels[label]
	}
	var namespaces corev1.NamespaceList
	err := s.api.List(ctx, &namespaces, client.HasLabels{label})
	if apierrors.IsForbidden(err) {
		s.noticef("You may not list namespaces: the column %s has only the labels of chats.", label)
		return values, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the namespaces: %w", err)
	}
	for _, n := range namespaces.Items {
		values[types.NamespacedName{Namespace: n.Name}] = n.Labels[label]
	}
	return values, nil
}

func writeUsages(out io.Writer, usages []historyv1.Usage, label string, values map[types.NamespacedName]string) error {
	rows := csv.NewWriter(out)
	heading := []string{"day", "namespace", "chat", "role", "model", "currency", "cost", "calls", "failed_calls", "unpriced_calls",
		"prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens"}
	if label != "" {
		heading = append(heading, label)
	}
	if err := rows.Write(heading); err != nil {
		return err
	}
	for _, u := range usages {
		if u.StartTime == nil || u.ModelCalls.Total == 0 {
			continue // runs of tools
		}
		calls := u.ModelCalls
		value, ok := values[types.NamespacedName{Namespace: u.Namespace, Name: u.Chat}]
		if !ok {
			value = values[types.NamespacedName{Namespace: u.Namespace}]
		}
		for _, cost := range costRows(calls.Costs) {
			row := []string{u.StartTime.UTC().Format(time.DateOnly), u.Namespace, u.Chat, u.Role, noFormula(u.Model), cost.Currency, cost.amount}
			for _, n := range []int64{
				calls.Total, calls.Failed, calls.UnknownCostCalls, calls.PromptTokens, calls.CachedTokens, calls.CompletionTokens, calls.ReasoningTokens,
			} {
				row = append(row, strconv.FormatInt(n, 10))
			}
			if label != "" {
				row = append(row, value)
			}
			if err := rows.Write(row); err != nil {
				return err
			}
			calls = historyv1.CallUsage{}
		}
	}
	rows.Flush()
	return rows.Error()
}

// noFormula returns text that spreadsheets do not take for a formula. Names of models may have any characters; those of other objects cannot
// begin with these.
func noFormula(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// costRow is a cost with its exact amount as text, in whole units of the currency.
type costRow struct {
	historyv1.Cost
	amount string
}

// costRows returns a row for each currency. Without a known cost there is one with no amount.
func costRows(costs []historyv1.Cost) []costRow {
	if len(costs) == 0 {
		return []costRow{{}}
	}
	var rows []costRow
	for _, c := range costs {
		rows = append(rows, costRow{c, fmt.Sprintf("%d.%06d", c.CostMicros/1e6, c.CostMicros%1e6)})
	}
	return rows
}
