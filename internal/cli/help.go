// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
)

// wrapColumn is where the descriptions of flags are wrapped.
const wrapColumn = 100

// setUsage sets help texts that follow kubectl: the help of a command lists its own flags and refers to `options` for the shared ones.
// They are functions, because templates call methods by name, for which the linker keeps every method of every type.
func setUsage(root *cobra.Command) {
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), usage(cmd))
		return err
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		text := usage(cmd)
		if about := strings.TrimRightFunc(cmp.Or(cmd.Long, cmd.Short), unicode.IsSpace); about != "" {
			text = about + "\n\n" + text
		}
		_, _ = io.WriteString(cmd.OutOrStdout(), text) // a help function returns no error
	})
}

func usage(cmd *cobra.Command) string {
	var out strings.Builder
	if cmd.HasExample() {
		fmt.Fprintf(&out, "Examples:\n  %s\n\n", strings.ReplaceAll(cmd.Example, "\n", "\n  "))
	}
	if cmd.HasAvailableSubCommands() {
		for _, group := range cmd.Groups() {
			writeCommands(&out, cmd, group.Title, group.ID)
		}
		if !cmd.AllChildCommandsHaveGroup() {
			writeCommands(&out, cmd, "Other commands:", "")
		}
	}
	if flags := strings.TrimRight(cmd.LocalNonPersistentFlags().FlagUsagesWrapped(wrapColumn), "\n"); cmd.HasAvailableLocalFlags() && flags != "" {
		fmt.Fprintf(&out, "Options:\n%s\n\n", flags)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&out, "Usage:\n  %[1]s [command]\n\nUse \"%[1]s [command] --help\" for more information about a command.\n", cmd.CommandPath())
	} else {
		fmt.Fprintf(&out, "Usage:\n  %s\n\n", strings.Replace(cmd.UseLine(), "[flags]", "[options]", 1))
	}
	out.WriteString("Use \"kubectl nestor options\" for the options that every command has, such as --namespace.\n")
	return out.String()
}

func writeCommands(out *strings.Builder, cmd *cobra.Command, title, group string) {
	out.WriteString(title)
	for _, c := range cmd.Commands() {
		if c.GroupID == group && (c.IsAvailableCommand() || c.Name() == "help") {
			fmt.Fprintf(out, "\n  %-*s %s", c.NamePadding(), c.Name(), c.Short)
		}
	}
	out.WriteString("\n\n")
}

// newOptions lists the options that every command has, as kubectl does.
func newOptions() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "options",
		Short:   "List the options that every command has",
		Long:    "List the options that every command has. They are those of kubectl.",
		GroupID: groupSetup,
		Args:    argCount(0, 0, "no arguments"),
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cmd.Println("The following options can be passed to any command:")
		cmd.Println()
		cmd.Print(cmd.InheritedFlags().FlagUsagesWrapped(wrapColumn))
		return nil
	}
	cmd.SetUsageFunc(func(*cobra.Command) error { return nil })
	return cmd
}
