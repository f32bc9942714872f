// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/kubewatch"
)

type evalRunOptions struct {
	file, output string
	timeout      time.Duration
}

// evalOutputs are the formats of eval run.
var evalOutputs = []string{"junit", "json", "yaml"}

func newEvalRun(f *Factory) *cobra.Command {
	o := evalRunOptions{}
	cmd := &cobra.Command{
		Use:   "run [NAME]",
		Short: "Wait for the verdict on the current revision of a role",
		Long: dedent(`
			Wait for the verdict on the current revision of a role, and print it. The operator evaluates each revision once, as soon
			as the role changes; if it has a verdict already, the command prints that one.

			With -f, the AgentEvaluation in the file is created first, or replaces the spec of the one with its name.

			Exit codes: 0 the revision passed, or is promoted and needs no evaluation; 1 the command itself failed; 2 wrong usage;
			3 the revision failed or the verdict is inconclusive; 6 --timeout expired.
		`),
		Example: dedent(`
			# Fail a pipeline if the changed role is worse, with a report for its user interface
			kubectl apply -f role.yaml
			kubectl nestor eval run poems -o junit --timeout 30m > report.xml

			# The same with the suite from the repository
			kubectl nestor eval run -f evaluation.yaml
		`),
		Args:              argCount(0, 1, "the name of an evaluation, or -f FILE"),
		ValidArgsFunction: f.firstArg(names(&v1beta1.AgentEvaluationList{})),
		RunE:              f.runE(o.run),
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.file, "filename", "f", "", "A file with the AgentEvaluation.")
	flags.StringVarP(&o.output, "output", "o", "", "Output format: "+strings.Join(evalOutputs, ", ")+" (default: text).")
	flags.DurationVar(&o.timeout, "timeout", 0, "Give up after this time, for example 30m; 0 waits forever. The evaluation continues.")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(evalOutputs, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *evalRunOptions) run(ctx context.Context, s *session, args []string) error {
	switch {
	case (len(args) == 0) == (o.file == ""):
		return usagef("expected the name of an evaluation, or -f FILE")
	case o.output != "" && !slices.Contains(evalOutputs, o.output):
		return usagef("unknown output format %q: use -o %s", o.output, strings.Join(evalOutputs, " or -o "))
	}
	e, err := o.find(ctx, s, args)
	if err != nil {
		return err
	}
	waiting, cancel := withTimeout(ctx, o.timeout)
	defer cancel()
	ended, err := s.awaitVerdict(waiting, e)
	if err != nil {
		return explainTimeout(err, "waiting for the verdict of "+e.Name)
	}
	if ended == nil {
		s.noticef("The current revision of the role %s is promoted: there is nothing to evaluate.", e.Spec.Role)
		if o.output == "" {
			return nil
		}
		ended = e // without a verdict
	}
	switch o.output {
	case "junit":
		err = writeJUnit(s.Out, ended)
	case "":
		s.describeEvaluation(ended)
	default:
		err = s.printReport(format{value: o.output}, ended)
	}
	if err != nil {
		return err
	}
	if v := ended.Status.Verdict; v == v1beta1.VerdictFailed || v == v1beta1.VerdictInconclusive {
		return exitf(exitFailed, "the revision %s of the role %s did not pass: %s", ended.Status.CandidateRevision, ended.Spec.Role, v)
	}
	return nil
}

// find returns the evaluation, after that of the file was applied.
func (o *evalRunOptions) find(ctx context.Context, s *session, args []string) (*v1beta1.AgentEvaluation, error) {
	if o.file == "" {
		return s.getEvaluation(ctx, args[0])
	}
	e := &v1beta1.AgentEvaluation{}
	if err := readManifest("filename", o.file, "AgentEvaluation", e); err != nil {
		return nil, err
	}
	e.Namespace = s.namespace
	err := s.api.Create(ctx, e)
	if !apierrors.IsAlreadyExists(err) {
		return e, err
	}
	existing, err := s.getEvaluation(ctx, e.Name)
	if err != nil {
		return nil, err
	}
	existing.Spec = e.Spec
	return existing, s.api.Update(ctx, existing)
}

// awaitVerdict returns an evaluation with a verdict on the current revision of its role; nil if that is promoted and has none.
func (s *session) awaitVerdict(ctx context.Context, e *v1beta1.AgentEvaluation) (*v1beta1.AgentEvaluation, error) {
	role := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Spec.Role}}
	role, err := kubewatch.Until(ctx, s.api, role, &v1beta1.AgentRoleList{}, func(r *v1beta1.AgentRole) bool {
		return r.Status.ObservedGeneration == r.Generation && r.Status.CurrentRevision != ""
	})
	if errors.Is(err, kubewatch.ErrDeleted) {
		return nil, fmt.Errorf("there is no role %q in namespace %s", e.Spec.Role, e.Namespace)
	}
	if err != nil {
		return nil, err
	}
	status := role.Status
	promoted := status.CurrentRevision == status.PromotedRevision
	if status.CurrentRevision == status.RejectedRevision {
		return nil, exitf(exitFailed, "the current revision %s of the role %s was rolled back, and is not evaluated again", status.CurrentRevision, role.Name)
	}
	ended, err := kubewatch.Until(ctx, s.api, e, &v1beta1.AgentEvaluationList{}, func(now *v1beta1.AgentEvaluation) bool {
		if now.Status.ObservedGeneration != now.Generation || now.Generation < e.Generation {
			return false
		}
		return promoted || hasVerdict(now, status.CurrentRevision) || notReady(now) != nil
	})
	if errors.Is(err, kubewatch.ErrDeleted) {
		return nil, fmt.Errorf("the evaluation %s was deleted", e.Name)
	}
	if err != nil {
		return nil, err
	}
	switch c := notReady(ended); {
	case c != nil:
		return nil, fmt.Errorf("the evaluation %s cannot be made: %s: %s", e.Name, c.Reason, c.Message)
	case hasVerdict(ended, status.CurrentRevision):
		return ended, nil
	}
	return nil, nil
}

func hasVerdict(e *v1beta1.AgentEvaluation, revision string) bool {
	return e.Status.Verdict != "" && e.Status.CandidateRevision == revision && e.Status.ResolvedGeneration == e.Generation
}

// notReady returns the Ready condition of an evaluation that cannot be made.
func notReady(e *v1beta1.AgentEvaluation) *metav1.Condition {
	if c := readyOf(e); c.Status == metav1.ConditionFalse {
		return &c
	}
	return nil
}
