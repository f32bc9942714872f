// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/view"
)

// reportOptions are the flags of commands that read everything once and print a part of it.
type reportOptions struct {
	all    allNamespaces
	output format
}

// report makes cmd a command without arguments that passes a snapshot to show.
func (o *reportOptions) report(f *Factory, cmd *cobra.Command, show func(*session, view.Snapshot) error) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = argCount(0, 0, "no arguments"), cobra.NoFileCompletions
	cmd.RunE = f.runE(func(ctx context.Context, s *session, _ []string) error {
		now, err := o.read(ctx, s)
		if err != nil {
			return err
		}
		return show(s, now)
	})
	o.all.register(cmd)
	o.output.register(cmd)
	return cmd
}

func (o *reportOptions) read(ctx context.Context, s *session) (view.Snapshot, error) {
	if err := o.output.check(); err != nil {
		return view.Snapshot{}, err
	}
	return follow.ReadSnapshot(ctx, s.api, follow.Scope{Namespace: o.all.namespace(s)})
}
