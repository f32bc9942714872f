// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/kubewatch"
	"github.com/nestor-dev/nestor/test/bench/report"
)

const (
	gatedRole  = "gated"
	suiteLabel = "suite"
)

// Evaluation evaluates a changed role on n recorded runs with two tool turns each: all are made again in both lanes.
func Evaluation(n int) Scenario {
	const turns = 2
	s := Scenario{ // no tool turns: the results come from the record
		Name: fmt.Sprintf("evaluation-%d", n), Title: fmt.Sprintf("an evaluation of %d recorded runs x 2 lanes x %d tool turns, latency 0 ms", n, turns),
		Agents: 2 * n, Tool: CalculatorTool, script: turnsScript(CalculatorTool, turns, 0), warm: "Success",
	}
	s.prepare = func(ctx context.Context, r *harness) error { return recordRuns(ctx, r, n) }
	s.run = func(ctx context.Context, r *harness, result *report.Result) error {
		began := time.Now()
		changed := &v1beta1.AgentRole{}
		if err := r.stack.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: gatedRole}, changed); err != nil {
			return fmt.Errorf("get the role: %w", err)
		}
		changed.Spec.SystemPrompt = "You work carefully."
		if err := r.stack.API.Update(ctx, changed); err != nil {
			return fmt.Errorf("change the role: %w", err)
		}
		suite, err := r.awaitEvaluation(ctx, func(e *v1beta1.AgentEvaluation) bool { return e.Status.Verdict != "" })
		if err != nil {
			return fmt.Errorf("wait for the verdict: %w", err)
		}
		result.WallSeconds = time.Since(began).Seconds()
		result.Created += int64(suite.Status.TotalTasks)
		for _, lane := range []*v1beta1.EvaluationLane{suite.Status.Baseline, suite.Status.Candidate} {
			result.Failures += int(lane.Failed + lane.Inconclusive)
		}
		if worst := suite.Status.Cases[0]; worst.Outcome != v1beta1.CasePassed {
			r.logf("  %s: %s: %s", worst.Task, worst.Outcome, worst.Message)
		}
		return nil
	}
	return s
}

// recordRuns runs the tasks of a gated role and creates the evaluation of it.
func recordRuns(ctx context.Context, r *harness, n int) error {
	gated := role(gatedRole, "You work.", CalculatorTool.allow)
	gated.Spec.Promotion = &v1beta1.RolePromotion{Mode: v1beta1.PromotionGated}
	if err := r.stack.API.Create(ctx, gated); err != nil {
		return fmt.Errorf("create the gated role: %w", err)
	}
	recorded := newTasksWithRole("recorded", gatedRole, n, "Success")
	for i, body := range recorded.bodies {
		recorded.bodies[i] = bytes.Replace(body, []byte(`"metadata":{`), []byte(`"metadata":{"labels":{"`+suiteLabel+`":"bench"},`), 1)
	}
	if err := recorded.run(ctx, r); err != nil {
		return err
	}
	e := &v1beta1.AgentEvaluation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: suiteLabel}}
	e.Spec.Role = gatedRole
	e.Spec.Cases = []v1beta1.EvaluationCase{{
		Name: "all", TaskSelector: &metav1.LabelSelector{MatchLabels: map[string]string{suiteLabel: "bench"}}, Expect: []string{"result.text == 'Work done.'"},
	}}
	if err := r.stack.API.Create(ctx, e); err != nil {
		return fmt.Errorf("create the evaluation: %w", err)
	}
	_, err := r.awaitEvaluation(ctx, func(e *v1beta1.AgentEvaluation) bool { return len(e.Status.Runs) == n })
	return err
}

func (r *harness) awaitEvaluation(ctx context.Context, is func(*v1beta1.AgentEvaluation) bool) (*v1beta1.AgentEvaluation, error) {
	e := &v1beta1.AgentEvaluation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: suiteLabel}}
	return kubewatch.Until(ctx, r.stack.API, e, &v1beta1.AgentEvaluationList{}, is)
}
