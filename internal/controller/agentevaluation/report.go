// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentevaluation

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/conditions"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/suite"
)

func now() *metav1.Time {
	at := metav1.NewTime(time.Now()).Rfc3339Copy()
	return &at
}

// begin removes what the status has of an earlier candidate.
func begin(s *v1beta1.AgentEvaluationStatus, candidate, baseline string) {
	*s = v1beta1.AgentEvaluationStatus{
		ObservedGeneration: s.ObservedGeneration, ResolvedGeneration: s.ResolvedGeneration, Runs: s.Runs, Conditions: s.Conditions,
		CandidateRevision: candidate, BaselineRevision: baseline,
	}
}

// report sets the verdict.
func report(e *v1beta1.AgentEvaluation, r suite.Report) {
	s := &e.Status
	s.Verdict, s.CompletionTime = r.Verdict, now()
	s.Baseline, s.Candidate = &r.Baseline, &r.Candidate
	s.Regressions, s.Inconclusive, s.CostIncreasePercent, s.Cases = r.Regressions, r.Inconclusive, r.CostIncreasePercent, r.Cases
}

// readyOf returns the Ready condition of an evaluation whose cases are resolved.
func readyOf(e *v1beta1.AgentEvaluation, role *v1beta1.AgentRole) metav1.Condition {
	s := e.Status
	if s.Verdict == "" {
		return status.Ready(e.Generation, fmt.Sprintf("The cases have %d recorded runs.", len(s.Runs)))
	}
	message := fmt.Sprintf("The revision %s of the role %s: %s.", s.CandidateRevision, role.Name, summary(e))
	if s.Verdict == v1beta1.VerdictPassed || role.Status.CurrentRevision != s.CandidateRevision || role.Status.PromotedRevision == s.CandidateRevision {
		return status.Ready(e.Generation, message)
	}
	failed := status.NotReady(e.Generation, v1beta1.ReasonEvaluationFailed, message)
	failed.Status = metav1.ConditionTrue // the suite itself can be used
	return failed
}

// summary returns the verdict, with the reasons.
func summary(e *v1beta1.AgentEvaluation) string {
	// The thresholds are those of the verdict: a change of the spec begins again.
	reasons := suite.Reasons(e.Spec.Thresholds, e.Status)
	if len(reasons) == 0 {
		return string(e.Status.Verdict)
	}
	return fmt.Sprintf("%s (%s)", e.Status.Verdict, strings.Join(reasons, "; "))
}

// setConditions sets Ready, and Reconciling while tasks run.
func setConditions(e *v1beta1.AgentEvaluation, ready metav1.Condition) {
	const kind = "AgentEvaluation"
	s := &e.Status
	s.ObservedGeneration = e.Generation
	s.Conditions = conditions.Set(s.Conditions, kind, ready, metav1.Now())
	if ready.Status != metav1.ConditionTrue || s.CandidateRevision == "" || s.Verdict != "" {
		s.Conditions = conditions.Without(s.Conditions, v1beta1.ConditionReconciling)
		return
	}
	s.Conditions = conditions.Set(s.Conditions, kind, metav1.Condition{
		Type: v1beta1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonEvaluating, ObservedGeneration: e.Generation,
		Message: fmt.Sprintf("The revision %s is evaluated against %s.", s.CandidateRevision, s.BaselineRevision),
	}, metav1.Now())
}

// isProgress reports whether only the number of tasks that have ended differs.
func isProgress(before, after *v1beta1.AgentEvaluation) bool {
	same := after.DeepCopy()
	same.Status.CompletedTasks = before.Status.CompletedTasks
	return equality.Semantic.DeepEqual(before, same)
}
