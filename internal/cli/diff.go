// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/internal/client/history"
	"github.com/nestor-dev/nestor/internal/rundiff"
)

type diffOptions struct{ output format }

func newDiff(f *Factory) *cobra.Command {
	o := diffOptions{}
	cmd := &cobra.Command{
		Use:   "diff RUN OTHER",
		Short: "Show where two runs part, call by call",
		Long: dedent(`
			Show where two runs part, call by call, with the tokens, cost and time of both.

			A run is a chat, for its orchestrator, or a task, for its sub-agent or tool run. To compare a deleted one, use
			chat.NAME, subagent.NAME or task.NAME, as for ` + "`kubectl nestor transcript`" + `.

			What is compared: inputs, the text of replies, tool calls with their arguments, decisions and results, and how the runs
			end. Arguments that are the same JSON are equal, and so are results of parallel calls that arrive in another order.
			The names of the runs that an agent starts do not matter; these runs are compared by name. Role, model, system prompt,
			tokens, cost and time are shown and are not compared, nor are attempts of a model call that were repeated.

			A step with one line is the same in both runs; where the figures differ, those of the first run stand before those of
			the second. Lines with - are of the first run and those with + of the second. ▸ marks the first difference. The
			cost includes delegated work; the time of a step is that of the model, the tool or the delegated work, without the
			time spent waiting for a person.

			Exit codes, as those of kubectl diff: 0 the runs are the same; 1 they differ; above 1 an error: 2 wrong usage, 3 the
			command itself failed.
		`),
		Example: dedent(`
			# The same task with another prompt
			kubectl nestor diff before after

			# What two agents of different chats did
			kubectl nestor diff first-1 second-1

			# The number of the first step that differs
			kubectl nestor diff before after -o json | jq .firstDifference
		`),
		Args:              argCount(2, 2, "the names of two chats or tasks"),
		ValidArgsFunction: f.firstArgs(2, chats, tasks(anyTask)),
	}
	run := f.runE(o.run)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return asDiffError(run(cmd, args)) }
	o.output.register(cmd)
	return cmd
}

// asDiffError keeps an error of the command apart from a difference by its exit code.
func asDiffError(err error) error {
	if exitCode(err) == exitError && !errors.Is(err, errDifferent) {
		return &exitStatus{exitNotCompared, err}
	}
	return err
}

func (o *diffOptions) run(ctx context.Context, s *session, args []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	var runs [2]rundiff.Run
	for i, arg := range args {
		var err error
		if runs[i], err = s.recordedRun(ctx, arg); err != nil {
			return err
		}
	}
	c := rundiff.Compare(runs[0], runs[1])
	if o.output.value == "" {
		s.printComparison(c)
	} else if err := s.printReport(o.output, c); err != nil {
		return err
	}
	if !c.Same {
		return errDifferent
	}
	return nil
}

// recordedRun reads all of a run.
func (s *session) recordedRun(ctx context.Context, arg string) (rundiff.Run, error) {
	var run rundiff.Run
	name, _, err := s.transcriptOf(ctx, arg)
	if err != nil {
		return run, err
	}
	run, err = s.history().Recorded(ctx, name)
	if apierrors.IsNotFound(err) && !errors.Is(err, history.ErrNotServed) {
		return run, s.noTranscript(name)
	}
	return run, err
}
