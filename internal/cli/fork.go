// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

type forkOptions struct {
	name, role, provider, model, instruction string
	source                                   forkSource
	timeout                                  time.Duration
	wait                                     bool
	workspace                                workspaceOptions
	dryRun                                   dryRun
	print                                    *printFlags
}

// forkSource are the flags about the record of a run.
type forkSource struct {
	at               int64
	replies, results string
}

func (o *forkSource) register(cmd *cobra.Command, at int64, describeAt string) {
	cmd.Flags().Int64Var(&o.at, "at", at, describeAt)
	cmd.Flags().StringVar(&o.results, "results", string(v1beta1.ResultsRecorded), "Where the results of calls come from: Recorded, ReadOnly (read-only tools run too) or Live.")
	_ = cmd.RegisterFlagCompletionFunc("results", cobra.FixedCompletions(
		[]string{string(v1beta1.ResultsRecorded), string(v1beta1.ResultsReadOnly), string(v1beta1.ResultsLive)}, cobra.ShellCompDirectiveNoFileComp))
}

func newFork(f *Factory) *cobra.Command {
	o := forkOptions{print: newPrintFlags("created")}
	cmd := &cobra.Command{
		Use:   "fork TASK",
		Short: "Continue a recorded run from one of its events",
		Long: dedent(`
			Continue a recorded run from one of its events, as a new standalone task.

			The fork begins with the recorded history of TASK up to the event --at, or the last one before it at which no call,
			child or question is outstanding; status.forkSequence is that event. It may have another role, model or instruction.

			By default no call is made: the results come from the record, and a call that is not in it ends the fork with
			Diverged. With --results ReadOnly, read-only tools run too, and with Live, all calls are made. The files of the
			original task are not there; a git or emptyDir workspace starts anew.

			You need the permission to get the transcript of the run.
		`),
		Example: dedent(`
			# Continue after the event 12 with another model
			kubectl nestor fork fix-1 --at 12 --model large --wait

			# Ask a run that has ended for more, with its tools
			kubectl nestor fork fix-1 --instruction "Add a test." --results Live

			# Repeat a run from its record: neither the model nor a tool is called
			kubectl nestor fork fix-1 --at 0 --replies Recorded
		`),
		Args:              argCount(1, 1, "the name of one task"),
		ValidArgsFunction: f.firstArg(tasks(isAgentTask)),
		RunE:              f.runE(o.run),
	}
	o.source.register(cmd, -1, "The event to fork at, as transcript -o json numbers them (default: the last one).")
	flags := cmd.Flags()
	flags.Lookup("at").DefValue = "0" // otherwise the help would print -1
	flags.StringVar(&o.source.replies, "replies", string(v1beta1.RepliesLive), "Where the replies of the model come from: Recorded or Live. They are Live if something is replaced.")
	flags.StringVar(&o.role, "role", "", "The role that replaces the recorded one, with its prompt, skills and tools.")
	flags.StringVar(&o.provider, "provider", "", "The ModelProvider that replaces the recorded one.")
	flags.StringVar(&o.model, "model", "", "The model that replaces the recorded one.")
	flags.StringVar(&o.instruction, "instruction", "", "The message with which the run continues. At the beginning, it replaces the instruction of the task.")
	flags.StringVar(&o.name, "name", "", "The name of the new task (default: generated from the name of TASK).")
	flags.BoolVar(&o.wait, "wait", false, "Wait until the fork has ended, print the result, and exit with a code for the outcome.")
	flags.DurationVar(&o.timeout, "timeout", 0, "With --wait: give up after this time, for example 10m. 0 waits forever. The fork keeps running.")
	o.workspace.register(cmd)
	o.dryRun.register(cmd)
	o.print.add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("role", f.flag(roleNames))
	_ = cmd.RegisterFlagCompletionFunc("provider", f.flag(names(&v1beta1.ModelProviderList{})))
	_ = cmd.RegisterFlagCompletionFunc("replies", cobra.FixedCompletions(
		[]string{string(v1beta1.RepliesRecorded), string(v1beta1.RepliesLive)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func isAgentTask(t v1beta1.AgentTask) bool { return t.Spec.Type == v1beta1.TaskAgent }

func (o *forkOptions) run(ctx context.Context, s *session, args []string) error {
	if err := o.dryRun.check(); err != nil {
		return err
	}
	original, err := s.getTask(ctx, args[0])
	if err != nil {
		return err
	}
	task, err := s.forkOf(ctx, original, o.source)
	if err != nil {
		return err
	}
	if task.Name = o.name; o.name == "" {
		task.GenerateName = original.Name + "-fork-"
	}
	task.Spec.Role, task.Spec.ModelProvider, task.Spec.Model, task.Spec.Instruction = o.role, o.provider, o.model, o.instruction
	if task.Spec.Workspace, err = o.workspace.workspace(); err != nil {
		return err
	}
	if task.Spec.Workspace == nil {
		task.Spec.Workspace = newWorkspaceOf(original, task.Spec.Fork)
	}
	if o.dryRun.disabled() {
		if task.Spec.User, err = s.user(ctx); err != nil {
			return err
		}
	}
	if err := s.create(ctx, task, o.dryRun); err != nil {
		return err
	}
	if !o.wait || !o.dryRun.disabled() {
		return s.print(o.print, task)
	}
	s.noticef("%s/%s created", "agenttask.nestor.dev", task.Name)
	waiting, cancel := withTimeout(ctx, o.timeout)
	defer cancel()
	err = s.waitForTask(waiting, task, o.print)
	s.noticeIfLeft(waiting, "the fork keeps running: `kubectl nestor tree` shows it, `kubectl nestor cancel %s` stops it", task.Name)
	return explainTimeout(err, "waiting for the task "+task.Name)
}

// forkOf returns a task that forks the run of another one, without a name.
func (s *session) forkOf(ctx context.Context, original *v1beta1.AgentTask, source forkSource) (*v1beta1.AgentTask, error) {
	if !isAgentTask(*original) || original.Status.SubAgent == "" {
		return nil, usagef("%s has no run that can be forked: it is the call of a tool, or has not started", original.Name)
	}
	var sub v1beta1.SubAgent
	if err := s.get(ctx, original.Status.SubAgent, &sub); err != nil {
		return nil, fmt.Errorf("find the run of %s: %w", original.Name, err)
	}
	fork := &v1beta1.TaskFork{UID: string(sub.UID), Task: original.Name, ModelReplies: v1beta1.ReplySource(source.replies), ToolResults: v1beta1.ResultSource(source.results)}
	if sub.Name != original.Name {
		fork.Task, fork.SubAgent = "", sub.Name
	}
	if source.at >= 0 {
		fork.Sequence = &source.at
	}
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace}}
	task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Fork: fork}
	return task, nil
}

// newWorkspaceOf returns the workspace of a fork whose tools run: that of the original, which starts anew. A claim is not shared.
func newWorkspaceOf(original *v1beta1.AgentTask, fork *v1beta1.TaskFork) *v1beta1.Workspace {
	workspace := original.Spec.Workspace
	if fork.ToolResults == v1beta1.ResultsRecorded || workspace == nil || workspace.PersistentVolumeClaim != nil || workspace.Directory != nil {
		return nil
	}
	anew := workspace.DeepCopy()
	if anew.Git != nil {
		anew.Git.Push = nil
	}
	return anew
}
