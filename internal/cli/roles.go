// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/roles"
	"github.com/nestor-dev/nestor/internal/similar"
)

type rolesOptions struct {
	output            format
	operatorNamespace string
}

func newRoles(f *Factory) *cobra.Command {
	o := rolesOptions{output: format{names: true}}
	cmd := &cobra.Command{
		Use:   "roles [NAME]",
		Short: "List the roles that agents can have",
		Long: dedent(`
			List the roles that agents can have: those of the namespace, those shared by the operator's namespace, and the
			built-in ones. An AgentRole with the name of a built-in role overrides it.

			With NAME, print one role in full, including its prompt.
		`),
		Example: dedent(`
			# List all roles
			kubectl nestor roles

			# Print one role with its prompt and limits
			kubectl nestor roles coder
		`),
		Args:              argCount(0, 1, "at most one name of a role"),
		ValidArgsFunction: f.firstArg(roleNames),
		RunE:              f.runE(o.run),
	}
	o.output.register(cmd)
	operatorNamespaceFlag(cmd, &o.operatorNamespace)
	return cmd
}

func (o *rolesOptions) run(ctx context.Context, s *session, args []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	entries, err := roles.List(ctx, s.api, s.namespace, s.operatorNamespace(ctx, o.operatorNamespace))
	if err != nil {
		return err
	}
	if len(args) == 1 {
		all := slices.Clone(entries)
		entries = slices.DeleteFunc(entries, func(e roles.Entry) bool { return e.Name != args[0] })
		if len(entries) == 0 {
			var names []string
			for _, e := range all {
				names = append(names, e.Name)
			}
			if suggestion := similar.DidYouMean(args[0], names); suggestion != "" {
				return fmt.Errorf("there is no role %q in namespace %s%s", args[0], s.namespace, suggestion)
			}
			return fmt.Errorf("there is no role %q in namespace %s: `kubectl nestor roles` lists all roles", args[0], s.namespace)
		}
	}
	switch {
	case o.output.value == "name":
		for _, e := range entries {
			fmt.Fprintln(s.Out, e.Name)
		}
		return nil
	case o.output.value != "":
		return s.printReport(o.output, map[string]any{"items": entries})
	case len(args) == 1:
		s.printRole(entries[0])
		return nil
	}
	s.printRoles(entries)
	return nil
}

func (s *session) printRoles(entries []roles.Entry) {
	table := terminal.Table{Heading: []string{"NAME", "SOURCE", "DELEGATES TO", "ITERATIONS", "DESCRIPTION"}}
	for _, e := range entries {
		note := terminal.Fit(terminal.Line(e.Description), noteWidth)
		if e.Problem != "" {
			note = terminal.Bad.Render(terminal.Fit(terminal.Line(e.Problem), noteWidth))
		}
		table.Rows = append(table.Rows, []string{
			e.Name, e.Source, terminal.Fit(cmp.Or(strings.Join(e.Delegates(), ","), "-"), 40), strconv.Itoa(int(ptr.Deref(e.Limits, v1beta1.RoleLimits{}).MaxIterations)), note,
		})
	}
	table.FitLast(s.width(), "ITERATIONS", "DELEGATES TO", "SOURCE").Print(s.humanOutput())
}

func (s *session) printRole(e roles.Entry) {
	out := s.humanOutput()
	line := func(label, value string) {
		if value != "" {
			fmt.Fprintln(out, terminal.Bold.Render(terminal.Pad(label+":", 16)), terminal.Line(value))
		}
	}
	line("Name", e.Name)
	line("Display name", e.DisplayName)
	line("Source", e.Source)
	line("Problem", e.Problem)
	line("Description", e.Description)
	line("Model", strings.Trim(e.ModelProvider+" "+e.Model, " "))
	if e.Remote != nil {
		line("Remote agent", e.Remote.A2A.URL+" (A2A)")
	}
	if e.Tools != nil {
		line("Tools", strings.Join(e.Tools.Allow, ", "))
		line("Denied tools", strings.Join(e.Tools.Deny, ", "))
	}
	if e.Approval != nil {
		line("Approval", strings.Trim(string(e.Approval.Mode)+" "+strings.Join(e.Approval.Tools, ", "), " "))
	}
	line("Delegates to", strings.Join(e.Delegates(), ", "))
	if e.AsTool != nil {
		line("As a tool", e.AsTool.Name)
	}
	for i, skill := range e.SkillTexts {
		label := "Skills:"
		if i > 0 {
			label = ""
		}
		fmt.Fprintln(out, terminal.Bold.Render(terminal.Pad(label, 16)), terminal.Line(skill.Name+": "+skill.Description))
	}
	if e.Review != nil {
		line("Reviewed by", fmt.Sprintf("%s (at most %d times, on rejection: %s)", e.Review.Role, e.Review.MaxRounds, e.Review.OnReject))
	}
	line("Result data", strings.Join(e.OutputFields(), ", "))
	limits := ptr.Deref(e.Limits, v1beta1.RoleLimits{})
	line("Limits", fmt.Sprintf("%d iterations, %d seconds", limits.MaxIterations, limits.MaxDurationSeconds))
	if e.SystemPrompt != "" {
		fmt.Fprintf(out, "\n%s\n", terminal.Clean(e.SystemPrompt))
	}
}
