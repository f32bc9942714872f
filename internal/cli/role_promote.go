// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/revisions"
	"github.com/nestor-dev/nestor/internal/kubewatch"
	"github.com/nestor-dev/nestor/internal/role"
)

type rolePromoteOptions struct {
	timeout time.Duration
	// back chooses the previous revision instead of the current one.
	back bool
}

func newRolePromote(f *Factory) *cobra.Command {
	o := rolePromoteOptions{}
	cmd := &cobra.Command{
		Use:   "promote NAME [REVISION]",
		Short: "Let new runs begin with a revision of a gated role",
		Long: dedent(`
			Let new runs begin with a revision of a gated role: its current one, or the one in the argument. Running trees keep
			the revisions that they began with. It needs the verb promote on the AgentRole.
		`),
		Example: dedent(`
			# Promote the current revision
			kubectl nestor role promote coder

			# Promote another one; the beginning of its name is enough
			kubectl nestor role promote coder 3f2a9c
		`),
	}
	return o.complete(f, cmd)
}

func newRoleRollback(f *Factory) *cobra.Command {
	o := rolePromoteOptions{back: true}
	cmd := &cobra.Command{
		Use:   "rollback NAME [REVISION]",
		Short: "Let new runs begin with the revision that was promoted before",
		Long: dedent(`
			Let new runs begin with the revision of a gated role that was promoted before, or with the one in the argument.
			Until the role is corrected, or its current revision is promoted again, the role has the condition Stalled.

			It needs the verb promote on the AgentRole.
		`),
		Example: dedent(`
			# Go back to the revision that was promoted before
			kubectl nestor role rollback coder
		`),
	}
	return o.complete(f, cmd)
}

func (o *rolePromoteOptions) complete(f *Factory, cmd *cobra.Command) *cobra.Command {
	cmd.Args = argCount(1, 2, "the name of a role and at most one of its revisions")
	cmd.ValidArgsFunction = f.firstArg(roleNames)
	cmd.RunE = f.runE(o.run)
	cmd.Flags().DurationVar(&o.timeout, "timeout", recordTimeout, "Give up waiting for the operator after this time.")
	return cmd
}

func (o *rolePromoteOptions) run(ctx context.Context, s *session, args []string) error {
	r, all, err := s.getRevisions(ctx, args[0])
	if err != nil {
		return err
	}
	if !role.Gated(r) {
		return fmt.Errorf("the role %s uses every change at once: set spec.promotion.mode to Gated to promote its revisions", r.Name)
	}
	name := r.Status.CurrentRevision
	if o.back {
		name = r.Status.PreviousRevision
	}
	if len(args) == 2 {
		name = args[1]
	}
	if name == "" && o.back {
		return fmt.Errorf("no other revision of the role %s was promoted before: name one of `kubectl nestor role history %s`", r.Name, r.Name)
	}
	found, err := all.Find(r.Name, name)
	if err != nil {
		return err
	}
	if found.Revision == r.Status.PromotedRevision {
		s.noticef("The revision %s of the role %s is promoted already.", found.Revision, r.Name)
		return nil
	}
	ctx, cancel := withTimeout(ctx, o.timeout)
	defer cancel()
	if err := s.promote(ctx, r, found.Revision); err != nil {
		return explainTimeout(err, operatorWait)
	}
	fmt.Fprintf(s.Out, "agentrole.nestor.dev/%s: promoted %s\n", r.Name, found.Revision)
	return nil
}

// promote writes the annotation that promotes a revision, and waits until the operator has handled it.
func (s *session) promote(ctx context.Context, r *v1beta1.AgentRole, revision string) error {
	user, err := s.user(ctx)
	if err != nil {
		return err
	}
	value, err := revisions.Promote(ctx, s.api, r, revision, user, s.now())
	if err != nil {
		return err
	}
	now, err := kubewatch.Until(ctx, s.api, r, &v1beta1.AgentRoleList{}, func(now *v1beta1.AgentRole) bool {
		return now.UID != r.UID || now.Status.HandledPromotion == value || now.Annotations[v1beta1.AnnotationPromote] != value
	})
	switch {
	case errors.Is(err, kubewatch.ErrDeleted) || err == nil && now.UID != r.UID:
		return fmt.Errorf("the role %s was deleted", r.Name)
	case err != nil:
		return err
	case now.Status.HandledPromotion != value:
		return fmt.Errorf("another request replaced this one: `kubectl nestor role history %s` has the promoted revision", r.Name)
	}
	return nil
}
