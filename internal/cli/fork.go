// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
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
			Diverged. With --results ReadOnly, read-only tools run too, and with Live, all calls are made, in a new workspace
			like that of the original task. Its files are those of the commit with which the original began, and at the end of
			the original, also what it had changed. A volume claim is never shared.

			To fork a deleted task, use subagent.NAME or the UID of its run, as listed by
			` + "`kubectl get transcripts.history.nestor.dev`" + `. It has no workspace unless you name one.

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
		Args:              argCount(1, 1, "the name of one task, or the UID of its run"),
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
	run, err := s.findRun(ctx, args[0])
	if err != nil {
		return err
	}
	task := s.forkOf(run, o.source)
	if task.Name = o.name; o.name == "" {
		task.GenerateName = run.short() + "-fork-"
	}
	task.Spec.Role, task.Spec.ModelProvider, task.Spec.Model, task.Spec.Instruction = o.role, o.provider, o.model, o.instruction
	if task.Spec.Workspace, err = o.workspace.workspace(); err != nil {
		return err
	}
	if task.Spec.Workspace == nil {
		if task.Spec.Workspace, err = s.newWorkspaceOf(ctx, run, task.Spec.Fork); err != nil {
			return err
		}
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
	s.noticeIfInterrupted(waiting, "the fork keeps running: `kubectl nestor tree` shows it, `kubectl nestor cancel %s` stops it", task.Name)
	return explainTimeout(err, "waiting for the task "+task.Name)
}

// recordedRun is a run that can be forked.
type recordedRun struct {
	uid, name string
	// task is nil if it was deleted.
	task *v1beta1.AgentTask
}

const maxNameOfFork = 40

// short returns the name, or its beginning if a suffix would make it too long.
func (r recordedRun) short() string {
	name := r.name
	if r.task != nil {
		name = r.task.Name
	}
	return strings.TrimRight(name[:min(len(name), maxNameOfFork)], "-.")
}

// findRun returns the run of a task, or the run of a deleted one: by the name of its transcript, or by its UID.
func (s *session) findRun(ctx context.Context, arg string) (recordedRun, error) {
	if _, _, _, ok := historyv1.ParseTranscriptName(arg); ok {
		return s.deletedRun(ctx, arg, arg)
	}
	if _, err := uuid.Parse(arg); err == nil {
		return s.runWithUID(ctx, arg)
	}
	task, err := s.getTask(ctx, arg)
	if apierrors.IsNotFound(err) && !kube.IsNoSuchAPI(err) {
		return s.deletedRun(ctx, arg, historyv1.TranscriptName("SubAgent", arg))
	}
	if err != nil {
		return recordedRun{}, err
	}
	if !isAgentTask(*task) || task.Status.SubAgent == "" {
		return recordedRun{}, usagef("%s has no run that can be forked: it is the call of a tool, or has not started", task.Name)
	}
	var sub v1beta1.SubAgent
	if err := s.get(ctx, task.Status.SubAgent, &sub); err != nil {
		return recordedRun{}, fmt.Errorf("find the run of %s: %w", task.Name, err)
	}
	return recordedRun{string(sub.UID), sub.Name, task}, nil
}

// noRecord is for runs that the ledger does not have.
func (s *session) noRecord(arg string) error {
	return fmt.Errorf("there is no task %q in namespace %s, and the ledger has no run with this name: `kubectl get transcripts.history.nestor.dev` lists the runs that it has. "+
		"A deleted task can be forked until its retention ends, as subagent.NAME or by the UID of its run", arg, s.namespace)
}

// deletedRun returns the run with a transcript.
func (s *session) deletedRun(ctx context.Context, arg, transcript string) (recordedRun, error) {
	found, err := s.history().Transcript(ctx, transcript)
	if apierrors.IsNotFound(err) {
		return recordedRun{}, s.noRecord(arg)
	}
	if err != nil {
		return recordedRun{}, err
	}
	return runOfTranscript(found)
}

// runWithUID returns the run with a UID.
func (s *session) runWithUID(ctx context.Context, uid string) (recordedRun, error) {
	var found *historyv1.Transcript
	err := s.history().Transcripts(ctx, func(t historyv1.Transcript) error {
		if string(t.UID) == uid {
			found = &t
		}
		return nil
	})
	if err != nil {
		return recordedRun{}, err
	}
	if found == nil {
		return recordedRun{}, s.noRecord(uid)
	}
	return runOfTranscript(*found)
}

func runOfTranscript(t historyv1.Transcript) (recordedRun, error) {
	kind, name, _, _ := historyv1.ParseTranscriptName(t.Name)
	if kind != "SubAgent" {
		return recordedRun{}, usagef("%s cannot be forked: only the runs of tasks and sub-agents can, which are named subagent.NAME", t.Name)
	}
	return recordedRun{uid: string(t.UID), name: name}, nil
}

// forkOf returns a task that forks a run, without a name.
func (s *session) forkOf(run recordedRun, source forkSource) *v1beta1.AgentTask {
	fork := &v1beta1.TaskFork{UID: run.uid, SubAgent: run.name, ModelReplies: v1beta1.ReplySource(source.replies), ToolResults: v1beta1.ResultSource(source.results)}
	if run.task != nil && run.task.Name == run.name {
		fork.Task, fork.SubAgent = run.name, ""
	}
	if source.at >= 0 {
		fork.Sequence = &source.at
	}
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace}}
	task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Fork: fork}
	return task
}

// newWorkspaceOf returns the workspace of a fork whose tools run: a new one like that of the original, which belongs to the chat or task at the
// top of its tree. A claim is not shared.
func (s *session) newWorkspaceOf(ctx context.Context, run recordedRun, fork *v1beta1.TaskFork) (*v1beta1.Workspace, error) {
	if fork.ToolResults == v1beta1.ResultsRecorded || run.task == nil {
		return nil, nil
	}
	workspace := run.task.Spec.Workspace
	if name := run.task.Spec.Chat; name != "" {
		chat, err := s.getChat(ctx, name)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if err == nil {
			workspace = chat.Spec.Workspace
		}
	}
	if workspace == nil || workspace.PersistentVolumeClaim != nil || workspace.Directory != nil {
		return nil, nil
	}
	anew := workspace.DeepCopy()
	if anew.Git != nil {
		anew.Git.Push = nil
	}
	return anew, nil
}
