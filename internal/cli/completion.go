// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// completer is the program that kubectl runs to complete the words after "kubectl nestor"; hack/krew has the same one.
const completer = `#!/bin/sh
# kubectl asks this program on the PATH how to complete "kubectl nestor ...".
exec kubectl nestor __complete "$@"
`

// newCompletion replaces cobra's command, whose scripts complete a program called nestor.
func newCompletion(f *Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "completion",
		Short: "Print the kubectl completion script for this plugin",
		Long: dedent(`
			Print the kubectl completion script for this plugin. It completes commands and the names of your chats and tasks in every
			shell: kubectl runs it if it is on the PATH with the name kubectl_complete-nestor, and if kubectl's own completion is set
			up (see "kubectl completion --help").
		`),
		Example: dedent(`
			# For every shell in which kubectl itself is completed
			kubectl nestor completion > ~/.local/bin/kubectl_complete-nestor
			chmod +x ~/.local/bin/kubectl_complete-nestor
		`),
		Args:              argCount(0, 0, "no arguments: the script is the same for every shell"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(f.streams.Out, completer)
			return err
		},
	}
}
