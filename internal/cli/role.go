// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/client/revisions"
	"github.com/nestor-dev/nestor/internal/linediff"
	"github.com/nestor-dev/nestor/internal/role"
)

func newRole(f *Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "role COMMAND",
		Short: "List, compare and promote the revisions of a role",
		Long: dedent(`
			List, compare and promote the revisions of a role. A revision is the digest of everything that agents with the role
			are made from: its prompt, includes, skills, tools and model. Runs begin with the promoted revision of a role with
			spec.promotion.mode Gated.
		`),
		Example: dedent(`
			# What would change with a promotion
			kubectl nestor role diff coder

			# Let new runs begin with the current revision
			kubectl nestor role promote coder

			# Go back to the revision that was promoted before
			kubectl nestor role rollback coder
		`),
	}
	return withCommands(cmd, newRoleHistory(f), newRoleDiff(f), newRolePromote(f), newRoleRollback(f))
}

type roleHistoryOptions struct{ output format }

func newRoleHistory(f *Factory) *cobra.Command {
	o := roleHistoryOptions{output: format{names: true}}
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "List the recorded revisions of a role",
		Long: dedent(`
			List the recorded revisions of a role, the newest first: which one is current, promoted, was promoted before, or was
			rolled back. The operator keeps the newest ten, and those that are in use.
		`),
		Example: dedent(`
			# The revisions of a role
			kubectl nestor role history coder
		`),
		Args:              argCount(1, 1, "the name of a role"),
		ValidArgsFunction: f.firstArg(roleNames),
		RunE:              f.runE(o.run),
	}
	o.output.register(cmd)
	return cmd
}

func (o *roleHistoryOptions) run(ctx context.Context, s *session, args []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	_, all, err := s.getRevisions(ctx, args[0])
	if err != nil {
		return err
	}
	switch o.output.value {
	case "name":
		for _, r := range all {
			fmt.Fprintln(s.Out, r.Revision)
		}
		return nil
	case "json", "yaml":
		return s.printReport(o.output, map[string]any{"items": all})
	}
	if len(all) == 0 {
		s.noticef("The role %s has no recorded revisions.", args[0])
		return nil
	}
	table := terminal.Table{Heading: []string{"NUMBER", "REVISION", "AGE", "STATE"}}
	for _, r := range all {
		table.Rows = append(table.Rows, []string{strconv.FormatInt(r.Number, 10), r.Revision, terminal.Since(r.Time.Time, s.now()), cmp.Or(strings.Join(r.States, ", "), "-")})
	}
	table.Print(s.humanOutput())
	return nil
}

func newRoleDiff(f *Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "diff NAME [FROM [TO]]",
		Short: "Compare two revisions of a role",
		Long: dedent(`
			Compare two revisions of a role, with the texts of its includes and skills: the promoted and the current one, or those
			in the arguments. The beginning of a revision is enough if no other one has it.
		`),
		Example: dedent(`
			# What would change with a promotion
			kubectl nestor role diff coder

			# What has changed since an earlier revision
			kubectl nestor role diff coder 3f2a9c
		`),
		Args:              argCount(1, 3, "the name of a role and at most two of its revisions"),
		ValidArgsFunction: f.firstArg(roleNames),
		RunE:              f.runE(diffRevisions),
	}
}

func diffRevisions(ctx context.Context, s *session, args []string) error {
	r, all, err := s.getRevisions(ctx, args[0])
	if err != nil {
		return err
	}
	names := []string{r.Status.PromotedRevision, r.Status.CurrentRevision}
	copy(names, args[1:])
	var texts []string
	for i, name := range names {
		found, err := all.Find(r.Name, name)
		if err != nil {
			return err
		}
		text, err := found.YAML()
		if err != nil {
			return err
		}
		names[i], texts = found.Revision, append(texts, text)
	}
	hunks := linediff.Unified(texts[0], texts[1])
	if hunks == "" {
		s.noticef("The revision %s is the promoted and the current one.", names[0])
		return nil
	}
	_, err = fmt.Fprintf(s.Out, "--- %s\n+++ %s\n%s", names[0], names[1], terminal.Clean(hunks))
	return err
}

// getRevisions returns an AgentRole and its recorded revisions.
func (s *session) getRevisions(ctx context.Context, name string) (*v1beta1.AgentRole, revisions.Revisions, error) {
	r := &v1beta1.AgentRole{}
	err := s.get(ctx, name, r)
	if apierrors.IsNotFound(err) && !kube.IsNoSuchAPI(err) {
		if _, ok := role.BuiltIn(name); ok {
			return nil, nil, fmt.Errorf("the role %s is built in, and changes with a release of Nestor: an AgentRole with its name in namespace %s would have revisions", name, s.namespace)
		}
		return nil, nil, fmt.Errorf("there is no role %q in namespace %s: `kubectl nestor roles` lists all roles", name, s.namespace)
	}
	if err != nil {
		return nil, nil, err
	}
	all, err := revisions.List(ctx, s.api, r)
	return r, all, err
}
