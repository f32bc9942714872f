// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import "github.com/nestor-dev/nestor/api/v1beta1"

// Judged counts a verdict of an AgentEvaluation, and its tasks.
func (m *Metrics) Judged(s v1beta1.AgentEvaluationStatus) {
	m.evaluations.WithLabelValues(string(s.Verdict)).Inc()
	for lane, summary := range map[string]*v1beta1.EvaluationLane{"baseline": s.Baseline, "candidate": s.Candidate} {
		if summary == nil {
			continue
		}
		for outcome, count := range map[string]int32{"Passed": summary.Passed, "Failed": summary.Failed, "Inconclusive": summary.Inconclusive} {
			m.evaluationTasks.WithLabelValues(lane, outcome).Add(float64(count))
		}
	}
}
