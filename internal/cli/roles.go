// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/controller/resolve"
	"github.com/nestor-dev/nestor/internal/role"
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
		ValidArgsFunction: f.firstArg(roles),
		RunE:              f.runE(o.run),
	}
	o.output.register(cmd)
	operatorNamespaceFlag(cmd, &o.operatorNamespace)
	return cmd
}

// roleEntry is a role in the output of the command.
type roleEntry struct {
	role.Role `json:",inline"`
	// Source is where the role comes from.
	Source string `json:"source"`
	// Problem is why the role cannot be used.
	Problem string `json:"problem,omitempty"`
}

func (o *rolesOptions) run(ctx context.Context, s *session, args []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	entries, err := o.collectRoles(ctx, s)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		entries = slices.DeleteFunc(entries, func(e roleEntry) bool { return e.Name != args[0] })
		if len(entries) == 0 {
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

// collectRoles returns the roles that the namespace may use, resolved as the operator does.
func (o *rolesOptions) collectRoles(ctx context.Context, s *session) ([]roleEntry, error) {
	var here, shared v1alpha1.AgentRoleList
	if err := s.api.List(ctx, &here, client.InNamespace(s.namespace)); err != nil {
		return nil, err
	}
	finder := resolve.Finder{Reader: s.api, Live: s.api, OperatorNamespace: o.operatorNamespace}
	if err := s.api.List(ctx, &shared, client.InNamespace(o.operatorNamespace)); err != nil || s.namespace == o.operatorNamespace {
		// Most users may not read the operator's namespace; its shared roles are then not listed.
		finder.OperatorNamespace, shared.Items = s.namespace, nil
	}
	objects := map[string]*v1alpha1.AgentRole{}
	for _, list := range []v1alpha1.AgentRoleList{shared, here} {
		for i := range list.Items {
			objects[list.Items[i].Name] = &list.Items[i]
		}
	}
	var entries []roleEntry
	for _, name := range union(role.Names(), slices.Collect(maps.Keys(objects))) {
		entry, usable, err := s.entryOf(ctx, finder, name, objects[name])
		if err != nil {
			return nil, err
		}
		if usable {
			entries = append(entries, entry)
		}
	}
	return entries, nil
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// entryOf returns the role with a name, given the AgentRole of that name if there is one. It reports false for a
// shared role that this namespace may not use.
func (s *session) entryOf(ctx context.Context, finder resolve.Finder, name string, object *v1alpha1.AgentRole) (roleEntry, bool, error) {
	builtIn, isBuiltIn := role.BuiltIn(name)
	found, err := finder.Role(ctx, s.namespace, name)
	var missing *resolve.Missing
	switch {
	case errors.As(err, &missing) && object != nil && object.Namespace == s.namespace:
		builtIn.Name = name
		return roleEntry{Role: builtIn, Source: "namespace", Problem: missing.Reason + ": " + missing.Message}, true, nil
	case errors.As(err, &missing):
		return roleEntry{}, false, nil
	case err != nil:
		return roleEntry{}, false, err
	}
	entry := roleEntry{Role: found, Source: "built in"}
	if object == nil || (isBuiltIn && object.Namespace != s.namespace && found.SystemPrompt == builtIn.SystemPrompt && found.Model == builtIn.Model) {
		return entry, true, nil
	}
	entry.Source = "namespace"
	if object.Namespace != s.namespace {
		entry.Source = "shared"
	}
	if isBuiltIn {
		entry.Source += ", overrides a built-in role"
	}
	if c := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionReady); c != nil && c.Status == "False" {
		entry.Problem = c.Reason + ": " + c.Message
	}
	return entry, true, nil
}

func (s *session) printRoles(entries []roleEntry) {
	table := terminal.Table{Heading: []string{"NAME", "SOURCE", "DELEGATES TO", "ITERATIONS", "DESCRIPTION"}}
	for _, e := range entries {
		note := terminal.Fit(terminal.Line(e.Description), noteWidth)
		if e.Problem != "" {
			note = terminal.Bad.Render(terminal.Fit(terminal.Line(e.Problem), noteWidth))
		}
		table.Rows = append(table.Rows, []string{
			e.Name, e.Source, terminal.Fit(cmp.Or(strings.Join(e.Delegates(), ","), "-"), 40), strconv.Itoa(int(ptr.Deref(e.Limits, v1alpha1.RoleLimits{}).MaxIterations)), note,
		})
	}
	table.Print(s.humanOutput())
}

func (s *session) printRole(e roleEntry) {
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
	limits := ptr.Deref(e.Limits, v1alpha1.RoleLimits{})
	line("Limits", fmt.Sprintf("%d iterations, %d seconds", limits.MaxIterations, limits.MaxDurationSeconds))
	fmt.Fprintf(out, "\n%s\n", terminal.Clean(e.SystemPrompt))
}
