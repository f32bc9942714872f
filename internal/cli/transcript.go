// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/narrate"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/client/history"
	"github.com/nestor-dev/nestor/internal/plainjson"
	"github.com/nestor-dev/nestor/internal/view"
)

type transcriptOptions struct {
	follow, prompts, reasoning bool
	since, tail                int64
	output                     format
}

func newTranscript(f *Factory) *cobra.Command {
	o := transcriptOptions{output: format{markdown: true}}
	cmd := &cobra.Command{
		Use:     "transcript NAME",
		Aliases: []string{"log", "logs"},
		Short:   "Print the full history of an agent",
		Long: dedent(`
			Print the full history of an agent.

			NAME is a chat, for its orchestrator, or a task, for its sub-agent or tool run. To read the transcript of a deleted
			object, use chat.NAME, subagent.NAME or task.NAME, as listed by ` + "`kubectl get transcripts.history.nestor.dev`" + `.

			The transcript comes from the ledger through history.nestor.dev. If the cluster does not serve that API, the newest
			part is printed, shortened, from the status of the objects.
		`),
		Example: dedent(`
			# The orchestrator of a chat
			kubectl nestor transcript first

			# A running sub-agent, with replies as they stream in
			kubectl nestor transcript first-1 -f

			# A document to share
			kubectl nestor transcript first -o markdown > first.md

			# The newest ten entries as JSON, one per line
			kubectl nestor transcript first --tail 10 -o json
		`),
		Args:              argCount(1, 1, "the name of one chat or task"),
		ValidArgsFunction: f.firstArg(chats, tasks(anyTask)),
		RunE:              f.runE(o.run),
	}
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "Continue until the agent has ended, with replies as they stream in.")
	cmd.Flags().Int64Var(&o.tail, "tail", 0, "Start with this many of the newest entries; 0 prints all.")
	cmd.Flags().Int64Var(&o.since, "since", 0, "Omit the entries up to this number.")
	cmd.Flags().BoolVar(&o.prompts, "prompts", false, "Show the system prompt too.")
	cmd.Flags().BoolVar(&o.reasoning, "reasoning", false, "Show the reasoning of the model in full, not only its beginning.")
	cmd.MarkFlagsMutuallyExclusive("since", "tail")
	o.output.register(cmd)
	return cmd
}

func (o *transcriptOptions) run(ctx context.Context, s *session, args []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	if o.since < 0 || o.tail < 0 {
		return usagef("--since and --tail must not be negative")
	}
	name, to, err := s.transcriptOf(ctx, args[0])
	if err != nil {
		return err
	}
	query := history.Query{Since: o.since, Tail: o.tail, Follow: o.follow, Deltas: o.output.value == ""}
	err = s.readTranscript(ctx, name, query, o.entryPrinter(s, name))
	switch {
	case errors.Is(err, history.ErrNotServed) && to != nil:
		s.noticef("%v: printing the newest part, shortened, from the status; `kubectl nestor doctor` has details", err)
		return o.printFromStatus(ctx, s, *to)
	case apierrors.IsNotFound(err) && !errors.Is(err, history.ErrNotServed):
		return s.noTranscript(name)
	}
	return err
}

func (s *session) noTranscript(name string) error {
	const hint = "the ledger has no transcript %s in namespace %s: the agent has not started, or its history was pruned"
	return fmt.Errorf(hint, name, s.namespace)
}

// readTranscript reads a transcript once, or follows it through lost connections.
func (s *session) readTranscript(ctx context.Context, name string, query history.Query, each func(historyv1.Entry) error) error {
	if !query.Follow {
		return s.history().Log(ctx, name, query, each)
	}
	began := false
	transcript := follow.Transcript{Reader: s.history(), Name: name, Query: query, OnError: func(err error) error {
		if !began {
			return err
		}
		s.noticef("connection lost, retrying: %v", err)
		return nil
	}}
	return transcript.Follow(ctx, func(e historyv1.Entry) error {
		began = true
		return each(e)
	})
}

// transcriptOf returns the name of a transcript, and its object if that exists.
func (s *session) transcriptOf(ctx context.Context, name string) (string, *target, error) {
	if _, _, _, whole := historyv1.ParseTranscriptName(name); whole {
		return name, nil, nil
	}
	to, err := s.find(ctx, name)
	if err != nil {
		return "", nil, err
	}
	switch {
	case to.task == nil:
		return historyv1.TranscriptName("AgentChat", to.name()), &to, nil
	case to.task.Spec.Type == v1beta1.TaskTool:
		return historyv1.TranscriptName("AgentTask", to.name()), &to, nil
	}
	return historyv1.TranscriptName("SubAgent", view.AgentName(to.task)), &to, nil
}

func (o *transcriptOptions) entryPrinter(s *session, name string) func(historyv1.Entry) error {
	var show func(historyv1.Entry)
	switch o.output.value {
	case "":
		printer := narrate.NewTranscriptPrinter(s.humanOutput())
		printer.Prompts, printer.Reasoning = o.prompts, o.reasoning
		show = printer.Print
	case "markdown":
		printer := narrate.NewMarkdownPrinter(s.Out, "Transcript of "+name)
		printer.Prompts, printer.Reasoning = o.prompts, o.reasoning
		show = printer.Print
	case "yaml":
		return func(e historyv1.Entry) error {
			fmt.Fprintln(s.Out, "---")
			return s.printReport(o.output, e)
		}
	default:
		return func(e historyv1.Entry) error {
			line, err := json.Marshal(e)
			if err != nil {
				return fmt.Errorf("encode the output: %w", err)
			}
			_, err = s.machineOutput().Write(append(plainjson.Unescape(line), '\n'))
			return err
		}
	}
	return func(e historyv1.Entry) error {
		show(e)
		return nil
	}
}
