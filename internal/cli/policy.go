// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/policies"
)

func newPolicy(f *Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy COMMAND",
		Short: "List tool policies, explain their verdicts, and try them on recorded calls",
		Long: dedent(`
			List tool policies, explain their verdicts, and try them on recorded calls. A ToolPolicy decides which calls agents may
			make.
		`),
		Example: dedent(`
			# The policies that apply in the namespace
			kubectl nestor policy list

			# Why a call of a run waited or was denied
			kubectl nestor policy explain first-1

			# What a policy would have done in the last week
			kubectl nestor policy test -f policy.yaml
		`),
	}
	return withCommands(cmd, newPolicyList(f), newPolicyExplain(f), newPolicyTest(f))
}

type policyListOptions struct {
	operatorNamespace string
	output            format
}

func newPolicyList(f *Factory) *cobra.Command {
	o := policyListOptions{output: format{names: true}}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the policies that apply in the namespace",
		Long: dedent(`
			List the policies that apply to the agents of the namespace, also those of the operator's namespace if you may read
			them: their mode, the tools and roles that they match, their rules, and whether they are evaluated. The calls that a
			policy matches wait while it is not ready.
		`),
		Example: dedent(`
			# The policies that apply in the namespace
			kubectl nestor policy list
		`),
		Args:              argCount(0, 0, "no arguments"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              f.runE(o.run),
	}
	o.output.register(cmd)
	operatorNamespaceFlag(cmd, &o.operatorNamespace)
	return cmd
}

func (o *policyListOptions) run(ctx context.Context, s *session, _ []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	list, err := policies.Read(ctx, s.api, s.namespace, s.operatorNamespace(ctx, o.operatorNamespace))
	if err != nil {
		return err
	}
	if list.Unreadable != "" && o.output.value != "json" && o.output.value != "yaml" {
		s.noticef("The list may be incomplete: %s.", list.Unreadable)
	}
	switch o.output.value {
	case "name":
		for _, p := range list.Items {
			fmt.Fprintln(s.Out, p.Namespace+"/"+p.Name)
		}
		return nil
	case "json", "yaml":
		return s.printReport(o.output, list)
	}
	if len(list.Items) == 0 {
		s.noticef("No ToolPolicy applies in namespace %s.", s.namespace)
		return nil
	}
	table := terminal.Table{Heading: []string{"NAME", "MODE", "TOOLS", "ROLES", "RULES", "READY", "NOTE"}}
	for _, p := range list.Items {
		ready, note := terminal.Good.Render("yes"), ""
		if p.Ready != metav1.ConditionTrue {
			ready, note = terminal.Bad.Render("no"), strings.Trim(p.Reason+": "+p.Message, ": ")
		} else if p.NamesMissing() {
			note = p.Message
		}
		table.Rows = append(table.Rows, []string{
			p.Namespace + "/" + p.Name, string(p.Mode), orAll(p.Tools), orAll(p.Roles), strings.Join(p.Rules, ","), ready,
			terminal.Line(note),
		})
	}
	table.FitLast(s.width(), "ROLES", "MODE").Print(s.humanOutput())
	return nil
}

func orAll(names []string) string {
	return terminal.Fit(cmp.Or(strings.Join(names, ","), "(all)"), 40)
}
