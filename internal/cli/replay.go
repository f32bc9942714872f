// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/money"
)

type replayOptions struct {
	file, provider, model string
	source                forkSource
	timeout               time.Duration
	keep                  bool
}

func newReplay(f *Factory) *cobra.Command {
	o := replayOptions{}
	cmd := &cobra.Command{
		Use:   "replay TASK",
		Short: "Run a candidate for a role or a model against a recorded run",
		Long: dedent(`
			Run a candidate for a role or a model against a recorded run, before anyone else uses it.

			The candidate does the work of TASK again. Its calls get the recorded results, so nothing is changed anywhere. The
			command prints the first call that the record does not have, or that all calls are in the record, and what the
			candidate has used.

			--role is a file with an AgentRole, which need not exist in the cluster: it is created for the replay and deleted
			with it. You need the permissions to create AgentRoles and AgentTasks, and to get the transcript of the run.

			` + exitCodes + `
		`),
		Example: dedent(`
			# Would the new prompt have done the same?
			kubectl nestor replay fix-1 --role coder.yaml

			# Would a smaller model?
			kubectl nestor replay fix-1 --model small

			# Read-only tools may run as well
			kubectl nestor replay fix-1 --role coder.yaml --results ReadOnly
		`),
		Args:              argCount(1, 1, "the name of one task"),
		ValidArgsFunction: f.firstArg(tasks(isAgentTask)),
		RunE:              f.runE(o.run),
	}
	o.source.register(cmd, 0, "The event from which the candidate takes over; 0 is the beginning.")
	flags := cmd.Flags()
	flags.StringVar(&o.file, "role", "", "A file with the AgentRole to try.")
	flags.StringVar(&o.provider, "provider", "", "The ModelProvider to try.")
	flags.StringVar(&o.model, "model", "", "The model to try.")
	flags.BoolVar(&o.keep, "keep", false, "Keep the task and the role of the replay.")
	flags.DurationVar(&o.timeout, "timeout", 0, "Give up after this time, for example 10m; 0 waits forever.")
	_ = cmd.RegisterFlagCompletionFunc("provider", f.flag(names(&v1beta1.ModelProviderList{})))
	return cmd
}

func (o *replayOptions) run(ctx context.Context, s *session, args []string) error {
	run, err := s.findRun(ctx, args[0])
	if err != nil {
		return err
	}
	o.source.replies = string(v1beta1.RepliesRecorded) // unless something is replaced
	task := s.forkOf(run, o.source)
	role, err := o.readRole()
	if err != nil {
		return err
	}
	task.Name = fmt.Sprintf("%s-replay-%s", run.short(), rand.String(5))
	task.Spec.ModelProvider, task.Spec.Model = o.provider, o.model
	if role != nil {
		task.Spec.Role = task.Name
	}
	if task.Spec.User, err = s.user(ctx); err != nil {
		return err
	}
	if err := s.api.Create(ctx, task); err != nil {
		return err
	}
	if !o.keep {
		defer func() { _ = s.api.Delete(context.WithoutCancel(ctx), task) }() // the role is deleted with it
	}
	if role != nil { // the task waits for it
		role.Spec.Promotion = nil // the copy is not promoted
		role.ObjectMeta = metav1.ObjectMeta{Namespace: s.namespace, Name: task.Name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: v1beta1.GroupVersion.String(), Kind: "AgentTask", Name: task.Name, UID: task.UID},
		}}
		if err := s.api.Create(ctx, role); err != nil {
			return err
		}
	}
	waiting, cancel := withTimeout(ctx, o.timeout)
	defer cancel()
	ended, err := s.awaitTask(waiting, task)
	if err != nil {
		return explainTimeout(err, "waiting for the task "+task.Name)
	}
	return s.printReplay(ended)
}

// readRole reads the candidate; nil without one.
func (o *replayOptions) readRole() (*v1beta1.AgentRole, error) {
	if o.file == "" {
		return nil, nil
	}
	role := &v1beta1.AgentRole{}
	return role, readManifest("role", o.file, "AgentRole", role)
}

// printReplay prints what a replay has shown, and returns an error with the matching exit code.
func (s *session) printReplay(task *v1beta1.AgentTask) error {
	status := task.Status
	switch {
	case status.Error == nil && task.Spec.Fork.ToolResults == v1beta1.ResultsReadOnly:
		fmt.Fprintln(s.Out, "All calls are in the record, or read-only tools.")
	case status.Error == nil && task.Spec.Fork.ToolResults == v1beta1.ResultsLive:
		fmt.Fprintln(s.Out, "The candidate has ended. Its calls were made.")
	case status.Error == nil:
		fmt.Fprintln(s.Out, "All calls are in the record.")
	case status.Error.Kind == v1beta1.ErrorDiverged:
		fmt.Fprintln(s.Out, terminal.Line(status.Error.Message))
	}
	cost := "-"
	if status.Usage.CostMicros != nil {
		cost = money.Format(*status.Usage.CostMicros, status.Usage.Currency)
	}
	fmt.Fprintf(s.Out, "Iterations: %d, model calls: %d, tokens: %d, cost: %s\n", status.Iterations, status.Usage.ModelCalls, status.Usage.TotalTokens, cost)
	if status.Error == nil {
		return nil
	}
	return exitf(exitFailed, "task %s failed: %s: %s", task.Name, status.Error.Kind, terminal.Line(status.Error.Message))
}
