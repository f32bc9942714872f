// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/kube"
)

func newTrigger(f *Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trigger COMMAND",
		Short: "List, fire and follow triggers",
		Long: dedent(`
			List, fire and follow triggers. An AgentTrigger starts work automatically: on a
			schedule, for webhooks, or when objects change.
		`),
		Example: dedent(`
			# List the triggers of the namespace
			kubectl nestor trigger list

			# Start the work of a trigger now, and print its result
			kubectl nestor trigger fire nightly --wait
		`),
	}
	return withCommands(cmd, newTriggerList(f), newTriggerFire(f), newTriggerLogs(f))
}

type triggerListOptions struct {
	all    bool
	output format
}

func newTriggerList(f *Factory) *cobra.Command {
	o := triggerListOptions{output: format{names: true}}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List triggers: their source, next time, firings and readiness",
		Long: dedent(`
			List triggers: their source, the next time of a schedule, how long ago they last fired, how many tasks or messages are
			active, how many firings started work and how many were dropped, and whether they are ready.
		`),
		Example: dedent(`
			# The triggers of the namespace
			kubectl nestor trigger list

			# Those of all namespaces
			kubectl nestor trigger list -A
		`),
		Args:              argCount(0, 0, "no arguments"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              f.runE(o.run),
	}
	cmd.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "List the triggers of all namespaces.")
	o.output.register(cmd)
	return cmd
}

type triggerRow struct {
	Namespace        string       `json:"namespace"`
	Name             string       `json:"name"`
	Source           string       `json:"source"`
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`
	LastFired        *metav1.Time `json:"lastFiredTime,omitempty"`
	Active           int          `json:"active"`
	Firings          int64        `json:"firings"`
	Dropped          int64        `json:"dropped"`
	Ready            string       `json:"ready"`
	Reason           string       `json:"reason,omitempty"`
	Message          string       `json:"message,omitempty"`
}

func (o *triggerListOptions) run(ctx context.Context, s *session, _ []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	namespace := s.namespace
	if o.all {
		namespace = metav1.NamespaceAll
	}
	var list v1beta1.AgentTriggerList
	if err := s.api.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return err
	}
	rows := make([]triggerRow, 0, len(list.Items))
	for i := range list.Items {
		rows = append(rows, rowOf(&list.Items[i]))
	}
	slices.SortFunc(rows, func(a, b triggerRow) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	switch {
	case o.output.value == "name":
		for _, row := range rows {
			fmt.Fprintln(s.Out, row.Name)
		}
		return nil
	case o.output.value != "":
		return s.printReport(o.output, map[string]any{"items": rows})
	case len(rows) == 0 && o.all:
		s.noticef("No triggers found.")
		return nil
	case len(rows) == 0:
		s.noticef("No triggers found in namespace %s.", s.namespace)
		return nil
	}
	o.print(s, rows)
	return nil
}

func rowOf(t *v1beta1.AgentTrigger) triggerRow {
	row := triggerRow{
		Namespace: t.Namespace, Name: t.Name, Source: sourceOf(t.Spec), NextScheduleTime: t.Status.NextScheduleTime, LastFired: t.Status.LastFiredTime,
		Active: len(t.Status.Active), Firings: t.Status.Firings, Dropped: t.Status.Dropped, Ready: string(metav1.ConditionUnknown),
	}
	if c := meta.FindStatusCondition(t.Status.Conditions, v1beta1.ConditionReady); c != nil {
		row.Ready, row.Reason, row.Message = string(c.Status), c.Reason, c.Message
	}
	return row
}

func sourceOf(spec v1beta1.AgentTriggerSpec) string {
	switch {
	case spec.Schedule != nil:
		return strings.TrimSpace(spec.Schedule.Cron + " " + spec.Schedule.TimeZone)
	case spec.Webhook != nil:
		return "webhook " + string(cmp.Or(spec.Webhook.Format, v1beta1.WebhookGeneric))
	case spec.Watch != nil:
		return "watch " + spec.Watch.Kind
	}
	return "-"
}

func (o *triggerListOptions) print(s *session, rows []triggerRow) {
	table := terminal.Table{Heading: []string{"NAME", "SOURCE", "NEXT", "LAST", "ACTIVE", "FIRINGS", "DROPPED", "READY", "NOTE"}}
	if o.all {
		table.Heading = slices.Insert(table.Heading, 0, "NAMESPACE")
	}
	now := s.now()
	for _, row := range rows {
		cells := []string{
			row.Name, terminal.Line(row.Source), untilTime(row.NextScheduleTime, now), sinceTime(row.LastFired, now), strconv.Itoa(row.Active),
			strconv.FormatInt(row.Firings, 10), strconv.FormatInt(row.Dropped, 10), row.Ready, row.note(),
		}
		if o.all {
			cells = slices.Insert(cells, 0, row.Namespace)
		}
		table.Rows = append(table.Rows, cells)
	}
	table.FitLast(s.width(), "DROPPED", "ACTIVE", "FIRINGS", "LAST").Print(s.humanOutput())
}

// note returns the reason of a trigger that does not fire.
func (r triggerRow) note() string {
	switch {
	case r.Ready == string(metav1.ConditionTrue) && r.Reason == v1beta1.ReasonSuspended:
		return r.Reason
	case r.Ready == string(metav1.ConditionTrue), r.Reason == "":
		return ""
	}
	return terminal.Bad.Render(terminal.Fit(terminal.Line(r.Reason+": "+r.Message), noteWidth))
}

func sinceTime(t *metav1.Time, now time.Time) string {
	if t == nil {
		return "-"
	}
	return terminal.Since(t.Time, now)
}

func untilTime(t *metav1.Time, now time.Time) string {
	if t == nil {
		return "-"
	}
	return "in " + terminal.Since(now, t.Time)
}

// getTrigger returns a trigger, or an error with advice.
func (s *session) getTrigger(ctx context.Context, name string) (*v1beta1.AgentTrigger, error) {
	t := &v1beta1.AgentTrigger{}
	err := s.get(ctx, name, t)
	if apierrors.IsNotFound(err) && !kube.IsNoSuchAPI(err) {
		return nil, fmt.Errorf("there is no trigger %q in namespace %s: `kubectl nestor trigger list` lists them", name, s.namespace)
	}
	return t, err
}

func triggers(ctx context.Context, s *session) []cobra.Completion {
	return describeObjects(ctx, s, &v1beta1.AgentTriggerList{}, func(t *v1beta1.AgentTrigger) string { return sourceOf(t.Spec) })
}
