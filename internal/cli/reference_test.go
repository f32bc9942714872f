// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/nestor-dev/nestor/internal/cli"
)

func TestEveryCommandIsDocumented(t *testing.T) {
	root := cli.NewCommand(genericiooptions.NewTestIOStreamsDiscard(), nil)
	commands := root.Commands()
	for _, cmd := range root.Commands() {
		if cmd.GroupID != "" {
			commands = append(commands, cmd.Commands()...)
		}
	}
	for _, cmd := range commands {
		if cmd.Name() == "options" {
			continue
		}
		if cmd.Short == "" || cmd.Long == "" || cmd.Example == "" || cmd.Parent() == root && cmd.GroupID == "" {
			t.Errorf("%s lacks a short text, a long one, an example or a group", cmd.Name())
		}
		if strings.HasSuffix(cmd.Short, ".") || len(cmd.Short) > 75 {
			t.Errorf("%s: the short text is not one line without a full stop: %q", cmd.Name(), cmd.Short)
		}
		for _, line := range strings.Split(cmd.Long+"\n"+cmd.Example, "\n") {
			if len([]rune(line)) > 125 || strings.HasPrefix(line, "\t") {
				t.Errorf("%s: a line of the help is too long or indented by tabs: %q", cmd.Name(), line)
			}
		}
		checkFlags(t, cmd)
	}
}

func checkFlags(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(cmd.LocalNonPersistentFlags().FlagUsages()), "\n") {
		if strings.Contains(line, "--") && len(strings.Fields(line)) < 3 {
			t.Errorf("%s: an option is not explained: %q", cmd.Name(), line)
		}
	}
}
