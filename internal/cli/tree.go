// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/view"
)

type treeOptions struct {
	watch  bool
	all    allNamespaces
	output format
}

func newTree(f *Factory) *cobra.Command {
	o := treeOptions{output: format{names: true}}
	cmd := &cobra.Command{
		Use:   "tree [NAME]",
		Short: "Show chats, their tasks and the sub-agents under them",
		Long: dedent(`
			Show chats, their tasks and the sub-agents under them: phase, role, iterations, tokens, cost and age.

			A task and its sub-agent are one line; tokens and cost include everything below. A cost of "-" is unknown, not zero.
			NAME is a chat or a task; without it, everything in the namespace is shown.
		`),
		Example: dedent(`
			# Everything in the namespace
			kubectl nestor tree

			# Everything in all namespaces
			kubectl nestor tree -A

			# One chat, printed again whenever it changes
			kubectl nestor tree first -w

			# The names of its tasks, for scripts
			kubectl nestor tree first -o name
		`),
		Args:              argCount(0, 1, "at most one name of a chat or task"),
		ValidArgsFunction: f.firstArg(chats, tasks(anyTask)),
		RunE:              f.runE(o.run),
	}
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "Print the tree again whenever it changes, until Ctrl-C.")
	o.all.register(cmd)
	o.output.register(cmd)
	return cmd
}

func (o *treeOptions) run(ctx context.Context, s *session, args []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	scope := follow.Scope{Namespace: o.all.namespace(s)}
	task := ""
	if len(args) == 1 {
		if o.all.set {
			return usagef("--all-namespaces shows everything: leave out the name")
		}
		to, err := s.find(ctx, args[0])
		if err != nil {
			return err
		}
		scope, task = scopeOf(s.namespace, to)
	}
	if o.watch {
		return o.printChanges(ctx, s, scope, task)
	}
	now, err := follow.ReadSnapshot(ctx, s.api, scope)
	if err != nil {
		return err
	}
	return o.printTrees(s, s.humanOutput(), now, task)
}

// scopeOf returns the scope to watch for a target, and the task to restrict the output to.
func scopeOf(namespace string, to target) (follow.Scope, string) {
	if to.chat != nil {
		return follow.Scope{Namespace: namespace, Chat: to.chat.Name}, ""
	}
	return follow.Scope{Namespace: namespace, Chat: to.task.Spec.Chat, Standalone: to.task.Spec.Chat == ""}, to.task.Name
}

// printTrees prints the trees of a snapshot, or only the tree under a task.
func (o *treeOptions) printTrees(s *session, out io.Writer, now view.Snapshot, task string) error {
	var trees []treeNode
	for _, part := range now.ByNamespace() {
		trees = append(trees, buildTrees(part, task)...)
	}
	switch o.output.value {
	case "name":
		for _, name := range treeNames(trees) {
			fmt.Fprintln(out, name)
		}
		return nil
	case "json", "yaml":
		return s.printReport(o.output, treeReport{Items: trees})
	}
	if len(trees) == 0 {
		s.noticef("No chats or tasks found in %s; `kubectl nestor new` creates a chat.", o.all.place(s))
		return nil
	}
	printTrees(out, trees, s.now(), o.all.set, s.width())
	return nil
}

// clearScreen moves the cursor home and clears the screen.
const clearScreen = "\x1b[H\x1b[2J\x1b[3J"

// printChanges prints the tree whenever it has changed. On a terminal, each print replaces the previous one.
func (o *treeOptions) printChanges(ctx context.Context, s *session, scope follow.Scope, task string) error {
	snapshots, err := follow.Watch(ctx, s.cluster(), scope)
	if err != nil {
		return err
	}
	last := ""
	for now := range snapshots {
		var picture bytes.Buffer
		if err := o.printTrees(s, &picture, now, task); err != nil {
			return err
		}
		last = s.redraw(last, picture.String())
	}
	return nil
}
