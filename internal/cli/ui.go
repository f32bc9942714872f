// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nestor-dev/nestor/internal/server"
)

type uiOptions struct{ address, operatorNamespace string }

func newUI(f *Factory) *cobra.Command {
	o := uiOptions{}
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Serve the web page on this machine, with your own permissions",
		Long: dedent(`
			Serve the web page on this machine until Ctrl-C. Like kubectl, it acts with your own permissions.

			The link that it prints signs you in once. Anyone who opens it acts as you: do not share it.
		`),
		Example: dedent(`
			# Open the link that it prints in a browser
			kubectl nestor ui

			# On a given port, for another namespace
			kubectl nestor ui -n team-a --address 127.0.0.1:8088
		`),
		Args: argCount(0, 0, "no arguments"),
		RunE: f.runE(func(ctx context.Context, s *session, _ []string) error { return o.run(ctx, s) }),
	}
	cmd.Flags().StringVar(&o.address, "address", "", "The loopback address to listen on (default: a free port).")
	operatorNamespaceFlag(cmd, &o.operatorNamespace)
	return cmd
}

func (o *uiOptions) run(ctx context.Context, s *session) error {
	link, done, err := server.Local(ctx, server.LocalOptions{Config: s.config, Namespace: s.namespace, Address: o.address, OperatorNamespace: s.operatorNamespace(ctx, o.operatorNamespace)})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "%s\n", link)
	fmt.Fprintln(s.ErrOut, "The link signs you in once. Press Ctrl-C to stop.")
	return <-done
}
