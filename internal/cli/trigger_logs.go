// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/view"
)

type triggerLogsOptions struct {
	follow bool
	output format
}

func newTriggerLogs(f *Factory) *cobra.Command {
	o := triggerLogsOptions{output: format{names: true}}
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "List the runs of a trigger, newest first",
		Long: dedent(`
			List the runs of a trigger, newest first: when they started, the id of the firing, the task or message, its phase, and
			the result or the error. Tasks beyond the history limits of the trigger are deleted. The newest firing that started no
			work is printed on standard error.
		`),
		Example: dedent(`
			# The runs of a trigger
			kubectl nestor trigger logs nightly

			# Printed again whenever they change
			kubectl nestor trigger logs nightly -f

			# The full history of the newest run
			kubectl nestor transcript "$(kubectl nestor trigger logs nightly -o name | head -n 1)"
		`),
		Args:              argCount(1, 1, "the name of a trigger"),
		ValidArgsFunction: f.firstArg(triggers),
		RunE:              f.runE(o.run),
	}
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "Print the runs again whenever they change, until Ctrl-C.")
	o.output.register(cmd)
	return cmd
}

// triggerRun is the work of one firing.
type triggerRun struct {
	Time   metav1.Time `json:"time"`
	Firing string      `json:"firing"`
	Kind   string      `json:"kind"`
	Name   string      `json:"name"`
	Phase  string      `json:"phase"`
	// Result is the summary of the result, or the error.
	Result string `json:"result,omitempty"`
	failed bool
}

func (o *triggerLogsOptions) run(ctx context.Context, s *session, args []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	t, err := s.getTrigger(ctx, args[0])
	if err != nil {
		return err
	}
	if o.follow {
		return o.printChanges(ctx, s, t)
	}
	runs, err := s.triggerRuns(ctx, t)
	if err != nil {
		return err
	}
	if err := o.print(s, s.humanOutput(), t, runs); err != nil {
		return err
	}
	if drop := t.Status.LastDrop; drop != nil && o.output.value == "" {
		s.noticef("dropped firings: %d; the newest is %s, %s ago: %s: %s", t.Status.Dropped, terminal.Line(drop.ID), terminal.Since(drop.Time.Time, s.now()), drop.Reason, terminal.Line(drop.Message))
	}
	return nil
}

func (s *session) triggerRuns(ctx context.Context, t *v1beta1.AgentTrigger) ([]triggerRun, error) {
	which := []client.ListOption{client.InNamespace(t.Namespace), client.MatchingLabels{v1beta1.LabelTrigger: t.Name}}
	var tasks v1beta1.AgentTaskList
	var messages v1beta1.AgentMessageList
	list := client.ObjectList(&tasks)
	if t.Spec.Message != nil {
		list = &messages
	}
	if err := s.api.List(ctx, list, which...); err != nil {
		return nil, err
	}
	return runsOf(t, view.Snapshot{Tasks: tasks.Items, Messages: messages.Items}), nil
}

// runsOf returns the runs of a trigger, newest first. The UID in the annotation decides: an earlier trigger may have had the name.
func runsOf(t *v1beta1.AgentTrigger, now view.Snapshot) []triggerRun {
	runs := []triggerRun{}
	for i := range now.Tasks {
		task := &now.Tasks[i]
		if firing, ok := firingOf(t, task); ok {
			run := triggerRun{Time: task.CreationTimestamp, Firing: firing, Kind: "AgentTask", Name: task.Name, Phase: string(task.Status.Phase)}
			switch e := task.Status.Error; {
			case e != nil:
				run.Result, run.failed = string(e.Kind)+": "+e.Message, true
			case task.Status.Result != nil:
				run.Result = task.Status.Result.Summary
			}
			runs = append(runs, run)
		}
	}
	for i := range now.Messages {
		message := &now.Messages[i]
		if firing, ok := firingOf(t, message); ok {
			run := triggerRun{Time: message.CreationTimestamp, Firing: firing, Kind: "AgentMessage", Name: message.Name, Phase: string(message.Status.Phase), Result: message.Status.Reason}
			run.failed = message.Status.Phase == v1beta1.MessageRejected
			runs = append(runs, run)
		}
	}
	slices.SortStableFunc(runs, func(a, b triggerRun) int {
		return cmp.Or(b.Time.Compare(a.Time.Time), cmp.Compare(a.Name, b.Name))
	})
	return runs
}

// firingOf returns the id of the firing of a trigger that created an object.
func firingOf(t *v1beta1.AgentTrigger, object client.Object) (string, bool) {
	return strings.CutPrefix(object.GetAnnotations()[v1beta1.AnnotationFiring], string(t.UID)+"/")
}

func (o *triggerLogsOptions) print(s *session, out io.Writer, t *v1beta1.AgentTrigger, runs []triggerRun) error {
	switch o.output.value {
	case "name":
		for _, run := range runs {
			fmt.Fprintln(out, run.Name)
		}
		return nil
	case "json", "yaml":
		return s.printReport(o.output, map[string]any{"items": runs, "lastDrop": t.Status.LastDrop})
	}
	if len(runs) == 0 {
		s.noticef("Trigger %s has no runs.", t.Name)
		return nil
	}
	table := terminal.Table{Heading: []string{"TIME", "FIRING", "NAME", "PHASE", "RESULT"}}
	for _, run := range runs {
		result := terminal.Fit(terminal.Line(run.Result), noteWidth)
		if run.failed {
			result = terminal.Bad.Render(result)
		}
		table.Rows = append(table.Rows, []string{
			run.Time.UTC().Format(time.RFC3339), terminal.Fit(terminal.Line(run.Firing), 40), run.Name, terminal.Phase(cmp.Or(run.Phase, "Pending")), result,
		})
	}
	table.FitLast(s.width(), "FIRING").Print(out)
	return nil
}

// printChanges prints the runs whenever they have changed.
func (o *triggerLogsOptions) printChanges(ctx context.Context, s *session, t *v1beta1.AgentTrigger) error {
	scope := follow.Scope{Namespace: t.Namespace, Standalone: t.Spec.Message == nil}
	if t.Spec.Message != nil {
		scope.Chat = t.Spec.Message.Chat
	}
	snapshots, err := follow.Watch(ctx, s.cluster(), scope)
	if err != nil {
		return err
	}
	last := ""
	for now := range snapshots {
		runs := runsOf(t, now)
		if len(runs) == 0 {
			continue
		}
		var picture bytes.Buffer
		if err := o.print(s, &picture, t, runs); err != nil {
			return err
		}
		last = s.redraw(last, picture.String())
	}
	return nil
}
