// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/tool"
)

type runOptions struct {
	name, criteria, input, provider, model string
	contextFiles                           []string
	outputSchema                           string
	maxIterations                          int32
	maxDuration, ttl, timeout              time.Duration
	wait                                   bool
	workspace                              workspaceOptions
	dryRun                                 dryRun
	print                                  *printFlags
}

func newRun(f *Factory) *cobra.Command {
	o := runOptions{print: newPrintFlags("created")}
	cmd := &cobra.Command{
		Use:   "run ROLE INSTRUCTION",
		Short: "Run a standalone task, without a chat",
		Long: dedent(`
			Run a standalone task, without a chat, for example in a script or a pipeline.

			With --wait, the command waits until the task has ended, prints the result on standard output, and exits with a code
			for the outcome. If the agent asks a question or needs an approval, it prints on standard error what to type, and
			keeps waiting. With "-", the instruction is read from standard input.

			` + exitCodes + `
		`),
		Example: dedent(`
			# Review a repository in a pipeline, for at most ten minutes
			kubectl nestor run reviewer "Review the last commit." --git https://example.com/team/shop.git --wait --timeout 10m

			# Start now, and follow later
			kubectl nestor run researcher "Summarise the releases of 2024." --name releases
			kubectl nestor transcript releases -f

			# Get a verdict that a program can read
			kubectl nestor run reviewer "Review the last commit." --git https://example.com/team/shop.git \
			  --output-schema verdict.json --wait -o jsonpath='{.status.result.data.verdict}'

			# Read the instruction from a file, and print the task as JSON
			kubectl nestor run planner - --wait -o json < plan.md
		`),
		Args:              argCount(1, -1, "a role and an instruction"),
		ValidArgsFunction: f.firstArg(roleNames),
		RunE:              f.runE(o.run),
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.wait, "wait", false, "Wait until the task has ended, print the result, and exit with a code for the outcome.")
	flags.DurationVar(&o.timeout, "timeout", 0, "With --wait: give up after this time, for example 10m. 0 waits forever. The task keeps running.")
	flags.StringVar(&o.name, "name", "", "The name of the task (default: generated from the role's name).")
	flags.StringVar(&o.criteria, "criteria", "", "The acceptance criteria of the work.")
	flags.StringVar(&o.input, "input", "", "The input, as JSON, of a role that has an input schema.")
	flags.StringVar(&o.outputSchema, "output-schema", "", "A file with the JSON schema, as JSON or YAML, of the data that the agent must submit.")
	flags.StringSliceVar(&o.contextFiles, "context-file", nil, "A file of the workspace that the agent should read first; may be repeated.")
	flags.StringVar(&o.provider, "provider", "", "The ModelProvider (default: the role's, else the one named default).")
	flags.StringVar(&o.model, "model", "", "The model (default: the role's, else the provider's).")
	flags.Int32Var(&o.maxIterations, "max-iterations", 0, "How many model calls the agent may make; can only tighten the role's limit.")
	flags.DurationVar(&o.maxDuration, "max-duration", 0, "How long the work may take, not counting time spent waiting for a person; can only tighten the role's limit.")
	flags.DurationVar(&o.ttl, "ttl", -1, "Delete the task this long after it has ended; 0s deletes it at once (default: keep it).")
	flags.Lookup("ttl").DefValue = "0s" // otherwise the help would print -1ns
	o.workspace.register(cmd)
	o.dryRun.register(cmd)
	o.print.add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("provider", f.flag(names(&v1beta1.ModelProviderList{})))
	return cmd
}

func (o *runOptions) run(ctx context.Context, s *session, args []string) error {
	task, err := o.buildTask(s, args)
	if err != nil {
		return err
	}
	if o.dryRun.disabled() {
		_ = s.warnMissing(ctx, args[0], o.provider) // the task waits, and --wait reports it
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
	s.noticeIfInterrupted(waiting, "the task keeps running: `kubectl nestor tree` shows it, `kubectl nestor cancel %s` stops it", task.Name)
	return explainTimeout(err, "waiting for the task "+task.Name)
}

// buildTask returns the task that the flags describe.
func (o *runOptions) buildTask(s *session, args []string) (*v1beta1.AgentTask, error) {
	if err := o.dryRun.check(); err != nil {
		return nil, err
	}
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: o.name}}
	if o.name == "" {
		task.GenerateName = args[0] + "-"
	}
	task.Spec = v1beta1.AgentTaskSpec{
		Type: v1beta1.TaskAgent, Role: args[0], SuccessCriteria: o.criteria, ContextFiles: o.contextFiles,
		ModelProvider: o.provider, Model: o.model,
	}
	if o.input != "" {
		if !json.Valid([]byte(o.input)) {
			return nil, usagef("--input is not JSON: %s", o.input)
		}
		task.Spec.Arguments = &runtime.RawExtension{Raw: []byte(o.input)}
	}
	if err := o.readOutputSchema(task); err != nil {
		return nil, err
	}
	if o.input == "" || len(args) > 1 {
		var err error
		if task.Spec.Instruction, err = s.readMessage(args[1:]); err != nil {
			return nil, err
		}
	}
	if o.maxIterations > 0 || o.maxDuration > 0 {
		task.Spec.Limits = &v1beta1.TaskLimits{}
		if o.maxIterations > 0 {
			task.Spec.Limits.MaxIterations = &o.maxIterations
		}
		if o.maxDuration > 0 {
			task.Spec.Limits.MaxDurationSeconds = seconds(o.maxDuration)
		}
	}
	if o.ttl >= 0 {
		task.Spec.TTLSecondsAfterFinished = seconds(o.ttl)
	}
	var err error
	task.Spec.Workspace, err = o.workspace.workspace()
	return task, err
}

// readOutputSchema reads the file of --output-schema into the task.
func (o *runOptions) readOutputSchema(task *v1beta1.AgentTask) error {
	if o.outputSchema == "" {
		return nil
	}
	content, err := os.ReadFile(o.outputSchema)
	if err != nil {
		return &exitStatus{exitUsage, fmt.Errorf("read --output-schema: %w", err)}
	}
	schema, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return usagef("--output-schema %s is neither JSON nor YAML: %s", o.outputSchema, err)
	}
	if _, err := tool.OutputSchema(schema); err != nil {
		return usagef("--output-schema %s cannot be used: %s", o.outputSchema, err)
	}
	task.Spec.OutputSchema = &runtime.RawExtension{Raw: schema}
	return nil
}

// seconds converts a duration to seconds, rounded up.
func seconds(d time.Duration) *int32 {
	s := int32((d + time.Second - 1) / time.Second)
	return &s
}
