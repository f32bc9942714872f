// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/money"
)

func newEval(f *Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval COMMAND",
		Short: "Run, list and describe evaluations of roles",
		Long: dedent(`
			Run, list and describe evaluations of roles. An AgentEvaluation is a suite of recorded runs, which each new revision of a
			gated role does again before it is promoted.
		`),
		Example: dedent(`
			# Wait for the verdict on the current revision of the role, in a pipeline
			kubectl nestor eval run poems -o junit > report.xml

			# The cases that got worse
			kubectl nestor eval describe poems
		`),
	}
	return withCommands(cmd, newEvalRun(f), newEvalList(f), newEvalDescribe(f))
}

type evalListOptions struct {
	all    allNamespaces
	output format
}

func newEvalList(f *Factory) *cobra.Command {
	o := evalListOptions{output: format{names: true}}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List evaluations with their newest verdicts",
		Long:  "List evaluations with their roles, and the verdicts on the newest revisions.",
		Example: dedent(`
			# The evaluations of the namespace
			kubectl nestor eval list
		`),
		Args:              argCount(0, 0, "no arguments"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              f.runE(o.run),
	}
	o.all.register(cmd)
	o.output.register(cmd)
	return cmd
}

func (o *evalListOptions) run(ctx context.Context, s *session, _ []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	var list v1beta1.AgentEvaluationList
	if err := s.api.List(ctx, &list, client.InNamespace(o.all.namespace(s))); err != nil {
		return err
	}
	slices.SortFunc(list.Items, func(a, b v1beta1.AgentEvaluation) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	switch {
	case o.output.value == "name":
		for _, e := range list.Items {
			fmt.Fprintln(s.Out, e.Name)
		}
		return nil
	case o.output.value != "":
		return s.printReport(o.output, map[string]any{"items": list.Items})
	case len(list.Items) == 0:
		s.noticef("No evaluations found.")
		return nil
	}
	table := terminal.Table{Heading: []string{"NAME", "ROLE", "CASES", "VERDICT", "PASSED", "REGRESSIONS", "CANDIDATE"}}
	if o.all.namespace(s) == "" {
		table.Heading = slices.Insert(table.Heading, 0, "NAMESPACE")
	}
	for i := range list.Items {
		e := &list.Items[i]
		cells := []string{
			e.Name, e.Spec.Role, strconv.Itoa(len(e.Status.Runs)), verdictOf(e), passedOf(e.Status.Candidate), strconv.Itoa(int(e.Status.Regressions)),
			cmp.Or(e.Status.CandidateRevision, "-"),
		}
		if o.all.namespace(s) == "" {
			cells = slices.Insert(cells, 0, e.Namespace)
		}
		table.Rows = append(table.Rows, cells)
	}
	table.Print(s.humanOutput())
	return nil
}

// readyOf returns the Ready condition, or an empty one.
func readyOf(e *v1beta1.AgentEvaluation) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(e.Status.Conditions, v1beta1.ConditionReady), metav1.Condition{})
}

// verdictOf returns the verdict, or why there is none.
func verdictOf(e *v1beta1.AgentEvaluation) string {
	if e.Status.Verdict != "" {
		return string(e.Status.Verdict)
	}
	if meta.IsStatusConditionTrue(e.Status.Conditions, v1beta1.ConditionReconciling) {
		return fmt.Sprintf("%d/%d", e.Status.CompletedTasks, e.Status.TotalTasks)
	}
	if ready := readyOf(e); ready.Reason != v1beta1.ReasonReady {
		return cmp.Or(ready.Reason, "-")
	}
	return "-"
}

// judgeNameOf returns the role that judges, with its revision in the newest verdict.
func judgeNameOf(e *v1beta1.AgentEvaluation) string {
	if e.Status.JudgeRevision == "" {
		return e.Spec.Judge
	}
	return fmt.Sprintf("%s (revision %s)", e.Spec.Judge, e.Status.JudgeRevision)
}

func passedOf(lane *v1beta1.EvaluationLane) string {
	if lane == nil {
		return "-"
	}
	return fmt.Sprintf("%d/%d", lane.Passed, lane.Passed+lane.Failed)
}

type evalDescribeOptions struct{ output format }

func newEvalDescribe(f *Factory) *cobra.Command {
	o := evalDescribeOptions{}
	cmd := &cobra.Command{
		Use:   "describe NAME",
		Short: "Print the newest verdict of an evaluation with its worst cases",
		Long: dedent(`
			Print the newest verdict of an evaluation: what both revisions of the role did, and the worst cases first. TASK is the
			run of the candidate; ` + "`kubectl nestor diff`" + ` compares it with the recorded one.
		`),
		Example: dedent(`
			# The verdict and its cases
			kubectl nestor eval describe poems
		`),
		Args:              argCount(1, 1, "the name of an evaluation"),
		ValidArgsFunction: f.firstArg(names(&v1beta1.AgentEvaluationList{})),
		RunE:              f.runE(o.run),
	}
	o.output.register(cmd)
	return cmd
}

func (o *evalDescribeOptions) run(ctx context.Context, s *session, args []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	e, err := s.getEvaluation(ctx, args[0])
	if err != nil {
		return err
	}
	if o.output.value != "" {
		return s.printReport(o.output, e)
	}
	s.describeEvaluation(e)
	return nil
}

// getEvaluation returns an evaluation, or an error with advice.
func (s *session) getEvaluation(ctx context.Context, name string) (*v1beta1.AgentEvaluation, error) {
	e := &v1beta1.AgentEvaluation{}
	err := s.get(ctx, name, e)
	if apierrors.IsNotFound(err) && !kube.IsNoSuchAPI(err) {
		return nil, fmt.Errorf("there is no evaluation %q in namespace %s: `kubectl nestor eval list` lists them", name, s.namespace)
	}
	return e, err
}

func (s *session) describeEvaluation(e *v1beta1.AgentEvaluation) {
	status := e.Status
	fmt.Fprintf(s.Out, "Role:     %s\nVerdict:  %s\n", e.Spec.Role, verdictOf(e))
	if e.Spec.Judge != "" {
		fmt.Fprintf(s.Out, "Judge:    %s\n", judgeNameOf(e))
	}
	if message := readyOf(e).Message; message != "" {
		fmt.Fprintf(s.Out, "Message:  %s\n", terminal.Line(message))
	}
	if status.Verdict == "" {
		return
	}
	fmt.Fprintln(s.Out)
	lanes := terminal.Table{Heading: []string{"LANE", "REVISION", "PASSED", "INCONCLUSIVE", "TOKENS", "COST", "SECONDS"}}
	for _, lane := range []struct {
		name, revision string
		sum            *v1beta1.EvaluationLane
	}{{"baseline", status.BaselineRevision, status.Baseline}, {"candidate", status.CandidateRevision, status.Candidate}} {
		if lane.sum == nil {
			continue
		}
		cost := "-"
		if lane.sum.CostMicros != nil {
			cost = money.Format(*lane.sum.CostMicros, lane.sum.Currency)
		}
		lanes.Rows = append(lanes.Rows, []string{
			lane.name, lane.revision, passedOf(lane.sum), strconv.Itoa(int(lane.sum.Inconclusive)), strconv.FormatInt(lane.sum.TotalTokens, 10), cost,
			strconv.FormatInt(lane.sum.AverageDurationSeconds, 10),
		})
	}
	lanes.Print(s.humanOutput())
	fmt.Fprintln(s.Out)
	cases := terminal.Table{Heading: []string{"CASE", "RECORDED", "OUTCOME", "TASK", "MESSAGE"}}
	for _, c := range status.Cases {
		cases.Rows = append(cases.Rows, []string{c.Case, c.Task, string(c.Outcome), cmp.Or(c.CandidateTask, "-"), terminal.Line(c.Message)})
	}
	cases.FitLast(s.width()).Print(s.humanOutput())
	if hidden := len(status.Runs) - len(status.Cases); hidden > 0 {
		s.noticef("%d better cases are not shown.", hidden)
	}
}
