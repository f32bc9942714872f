// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// usageTemplate follows kubectl: the help of a command lists its own flags and refers to `options` for the shared
// ones.
const usageTemplate = `{{if .HasExample}}Examples:
{{indent .Example}}

{{end}}{{if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{range $group := .Groups}}{{.Title}}{{range $cmds}}{{if (and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help")))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}

{{end}}{{if not .AllChildCommandsHaveGroup}}Other commands:{{range $cmds}}{{if (and (eq .GroupID "") (or .IsAvailableCommand (eq .Name "help")))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}

{{end}}{{end}}{{if .HasAvailableLocalFlags}}{{with ownFlags .}}Options:
{{.}}

{{end}}{{end}}Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} [command]{{else}}{{usageLine .}}{{end}}

{{if .HasAvailableSubCommands}}Use "{{.CommandPath}} [command] --help" for more information about a command.
{{end}}Use "kubectl nestor options" for the options that every command has, such as --namespace.
`

const helpTemplate = `{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}`

// wrapColumn is where the descriptions of flags are wrapped.
const wrapColumn = 100

func setUsageTemplate(root *cobra.Command) {
	cobra.AddTemplateFunc("indent", func(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") })
	cobra.AddTemplateFunc("ownFlags", func(cmd *cobra.Command) string {
		return strings.TrimRight(cmd.LocalNonPersistentFlags().FlagUsagesWrapped(wrapColumn), "\n")
	})
	cobra.AddTemplateFunc("usageLine", func(cmd *cobra.Command) string {
		return strings.Replace(cmd.UseLine(), "[flags]", "[options]", 1)
	})
	root.SetUsageTemplate(usageTemplate)
	root.SetHelpTemplate(helpTemplate)
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
	cmd.SetUsageTemplate("")
	return cmd
}
