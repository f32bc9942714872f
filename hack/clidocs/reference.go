// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// reference returns the reference of all commands as Markdown: their help, ordered by group.
func reference(root *cobra.Command) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# kubectl nestor\n\n<!-- Generated from the commands by `make generate`: do not edit. -->\n\n%s\n", helpMarkdown(root.Long))
	for _, group := range root.Groups() {
		fmt.Fprintf(&out, "\n%s\n\n| | |\n|---|---|\n", group.Title)
		for _, cmd := range documentedCommands(root, group.ID) {
			fmt.Fprintf(&out, "| [%s](#kubectl-nestor-%s) | %s |\n", cmd.Name(), cmd.Name(), cmd.Short)
		}
	}
	for _, group := range root.Groups() {
		for _, cmd := range documentedCommands(root, group.ID) {
			writeCommand(&out, cmd)
			for _, below := range cmd.Commands() {
				writeCommand(&out, below)
			}
		}
	}
	fmt.Fprintf(&out, "\n## Options of every command\n\n%s", flagTable(root.PersistentFlags()))
	return out.String()
}

// documentedCommands returns our own commands of a group, without cobra's help.
func documentedCommands(root *cobra.Command, group string) []*cobra.Command {
	var commands []*cobra.Command
	for _, cmd := range root.Commands() {
		if cmd.GroupID == group && cmd.Name() != "help" && cmd.Name() != "options" && !cmd.Hidden {
			commands = append(commands, cmd)
		}
	}
	return commands
}

func writeCommand(out *strings.Builder, cmd *cobra.Command) {
	usage := strings.Replace(cmd.UseLine(), "[flags]", "[options]", 1)
	if cmd.HasSubCommands() {
		usage = cmd.CommandPath() + " COMMAND"
	}
	fmt.Fprintf(out, "\n## %s\n\n```\n%s\n```\n\n%s\n", cmd.CommandPath(), usage, helpMarkdown(cmd.Long))
	if cmd.Example != "" {
		fmt.Fprintf(out, "\n```sh\n%s\n```\n", cmd.Example)
	}
	if table := flagTable(cmd.LocalNonPersistentFlags()); table != "" {
		fmt.Fprintf(out, "\n%s", table)
	}
}

// helpMarkdown returns a help text as Markdown; indented lines become code blocks.
func helpMarkdown(text string) string {
	parts := strings.Split(text, "\n\n")
	for i, part := range parts {
		if head, rest, found := strings.Cut(part, "\n  "); found {
			parts[i] = head + "\n\n```\n  " + rest + "\n```"
		}
	}
	return strings.Join(parts, "\n\n")
}

func flagTable(flags *pflag.FlagSet) string {
	var rows strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		kind, usage := pflag.UnquoteUsage(f)
		fallback := f.DefValue
		if fallback == "[]" || fallback == "false" || strings.Contains(usage, "(default:") || f.Name == "cache-dir" { // cache-dir differs between machines
			fallback = ""
		}
		if fallback != "" {
			fallback = "`" + fallback + "`"
		}
		fmt.Fprintf(&rows, "| %s | %s | %s | %s |\n", name, kind, fallback, strings.ReplaceAll(usage, "|", `\|`))
	})
	if rows.Len() == 0 {
		return ""
	}
	return "| option | type | default | meaning |\n|---|---|---|---|\n" + rows.String()
}
