// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func newLogin(f *Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "login SERVER",
		Short: "Print the page where you log in to a tool server",
		Long: dedent(`
			Print the page where you log in to a tool server.

			Calls of a ToolServer with spec.auth.userOAuth have the credentials of the person who requested the work. An agent
			asks for a login when it needs one; log in before that, and it need not. The page shows who you are to the operator:
			sign in there as yourself. For a shared server, name its namespace with -n.
		`),
		Example: dedent(`
			# Log in to the tool server github
			kubectl nestor login github
		`),
		Args: argCount(1, 1, "the name of one tool server"),
		RunE: f.runE(func(ctx context.Context, s *session, args []string) error {
			return s.printLogin(ctx, args[0], "Open this page, sign in, and log in to %s:\n%s\n")
		}),
	}
}

func newLogout(f *Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "logout SERVER",
		Short: "Print the page where you log out of a tool server",
		Long: dedent(`
			Print the page where you log out of a tool server.

			The operator then deletes your credentials and revokes them at the authorization server, if that can do so. An agent
			that needs them asks you again.
		`),
		Example: dedent(`
			# Log out of the tool server github
			kubectl nestor logout github
		`),
		Args: argCount(1, 1, "the name of one tool server"),
		RunE: f.runE(func(ctx context.Context, s *session, args []string) error {
			return s.printLogin(ctx, args[0], "Open this page, sign in, and log out of %s:\n%s\n")
		}),
	}
}

// printLogin prints the page of a server. Only there, the operator learns from the API server who a person is.
func (s *session) printLogin(ctx context.Context, name, format string) error {
	var server v1beta1.ToolServer
	if err := s.api.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, &server); err != nil {
		return err
	}
	switch {
	case server.Spec.Auth == nil || server.Spec.Auth.UserOAuth == nil:
		return fmt.Errorf("people do not log in to the tool server %s: it has no spec.auth.userOAuth", name)
	case server.Status.LoginURL == "":
		return fmt.Errorf("the tool server %s has no page to log in: the operator needs the address of the web page (gateway.web.url of the chart)", name)
	}
	_, err := fmt.Fprintf(s.Out, format, name, server.Status.LoginURL)
	return err
}
