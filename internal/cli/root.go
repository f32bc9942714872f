// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Run runs the command in args and returns its exit code.
func Run(ctx context.Context, args []string, streams genericiooptions.IOStreams, environ []string) int {
	// Libraries log reconnects and the like. Commands print what the user needs to know.
	klog.SetLogger(klog.Logger{})
	log.SetLogger(klog.Logger{})
	root := NewCommand(streams, environ)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, errTimeout) {
		return 130 // the shell's exit code after Ctrl-C
	}
	code := exitCode(err)
	if errors.Is(err, errDifferent) {
		return code
	}
	fmt.Fprintln(streams.ErrOut, "error:", err)
	if code == exitUsage {
		fmt.Fprintf(streams.ErrOut, "See '%s --help'.\n", cmd.CommandPath())
	}
	return code
}

// The groups of commands in the help.
const (
	groupTalk    = "talk"
	groupInspect = "inspect"
	groupSetup   = "setup"
)

// NewCommand returns the root command of `kubectl nestor`.
func NewCommand(streams genericiooptions.IOStreams, environ []string) *cobra.Command {
	root := &cobra.Command{
		Use:         "nestor",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl nestor"},
		Short:       "Talk to hierarchical LLM agents that run in Kubernetes",
		Long: dedent(`
			Talk to hierarchical LLM agents that run in Kubernetes.

			You talk to an orchestrator in a chat. It answers, or delegates tasks to sub-agents, which use tools, ask you
			questions, wait for your approval and delegate further. Everything is a Kubernetes resource, and all commands act
			with your own permissions.
		`),
		Example: dedent(`
			# Open a chat on a full screen
			kubectl nestor chat

			# Ask one question, in a script
			kubectl nestor send my-chat "Summarise what was released this year." --wait

			# Check the installation
			kubectl nestor doctor
		`),
		SilenceUsage: true, SilenceErrors: true,
		Args: checkCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(suggestFlag)
	root.AddGroup(
		&cobra.Group{ID: groupTalk, Title: "Talk to agents:"},
		&cobra.Group{ID: groupInspect, Title: "Inspect agents:"},
		&cobra.Group{ID: groupSetup, Title: "Set up:"},
	)
	flags := genericclioptions.NewConfigFlags(true)
	flags.AddFlags(root.PersistentFlags())
	f := &Factory{getter: flags, streams: streams, environ: environ}
	for group, commands := range map[string][]*cobra.Command{
		groupTalk: {newChat(f), newNewChat(f), newSend(f), newApprove(f), newDeny(f), newAllowances(f), newCancel(f), newRun(f), newFork(f), newReplay(f), newTrigger(f)},
		groupInspect: {
			newList(f), newWaiting(f), newTop(f), newTree(f), newTranscript(f), newDiff(f), newSearch(f), newWorkspace(f), newUI(f), newUsage(f), newRoles(f), newRole(f), newEval(f), newPolicy(f),
		},
		groupSetup: {newLogin(f), newLogout(f), newCompletion(f), newDoctor(f), newVersion(f)},
	} {
		for _, command := range commands {
			command.GroupID = group
			root.AddCommand(command)
		}
	}
	root.SetHelpCommandGroupID(groupSetup)
	root.AddCommand(newOptions())
	completeFlags(root, f)
	setUsage(root)
	return root
}

// withCommands makes cmd a command that only has others below it.
func withCommands(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args, cmd.RunE = checkCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddGroup(&cobra.Group{ID: cmd.Name(), Title: "Commands:"})
	for _, command := range commands {
		command.GroupID = cmd.Name()
		cmd.AddCommand(command)
	}
	return cmd
}

// checkCommand returns an error for an unknown command, with similar commands as suggestions.
func checkCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("there is no command %q%s", args[0], similarCommands(root, args[0]))
}

// dedent removes the indentation of the source, which is that of the first line, from a help text.
func dedent(s string) string {
	s = strings.Trim(s, "\n")
	indentation := s[:len(s)-len(strings.TrimLeft(s, "\t"))]
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, indentation)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// argCount returns the check of a command's arguments, with a message that names what is expected.
func argCount(least, most int, expected string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || (most >= 0 && len(args) > most) {
			return usagef("expected %s", expected)
		}
		return nil
	}
}

// Main runs kubectl-nestor with the arguments, streams and environment of the process, and returns the exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	return Run(ctx, os.Args[1:], streams, os.Environ())
}
