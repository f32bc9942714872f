// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

const (
	// maxCases is the number of cases in a status.
	maxCases = 50
	// maxIncrease bounds the increase of a cost, in percent.
	maxIncrease = 1_000_000
)

// Case is a recorded run with its trials in both lanes.
type Case struct {
	Name string
	// Task is the AgentTask of the recorded run.
	Task                string
	Baseline, Candidate []Trial
}

// Report is what an evaluation has found about a candidate.
type Report struct {
	Verdict v1beta1.Verdict
	// Reasons are why the candidate did not pass.
	Reasons             []string
	Baseline, Candidate v1beta1.EvaluationLane
	Regressions         int32
	Inconclusive        int32
	CostIncreasePercent *int32
	// Cases are the worst ones, the worst first.
	Cases []v1beta1.CaseResult
}

// tally counts the trials of a case in a lane.
type tally struct{ passed, failed int32 }

func tallyOf(trials []Trial) tally {
	var t tally
	for _, trial := range trials {
		switch trial.Outcome {
		case TrialPassed:
			t.passed++
		case TrialFailed:
			t.failed++
		}
	}
	return t
}

func (t tally) conclusive() bool { return t.passed+t.failed > 0 }

// passes reports whether most trials with an outcome passed.
func (t tally) passes() bool { return t.passed > t.failed }

// outcome compares the trials of a case. With several repeats, the majority decides, so that a single run that differs is no regression.
func (c Case) outcome() v1beta1.CaseOutcome {
	baseline, candidate := tallyOf(c.Baseline), tallyOf(c.Candidate)
	switch {
	case !candidate.conclusive():
		return v1beta1.CaseInconclusive
	case candidate.passes():
		return v1beta1.CasePassed
	case baseline.conclusive() && baseline.passes():
		return v1beta1.CaseRegressed
	}
	return v1beta1.CaseFailed
}

func (c Case) result() v1beta1.CaseResult {
	r := v1beta1.CaseResult{
		Case: c.Name, Task: c.Task, Outcome: c.outcome(), BaselinePassed: tallyOf(c.Baseline).passed, CandidatePassed: tallyOf(c.Candidate).passed,
	}
	if len(c.Candidate) == 0 {
		return r
	}
	shown := c.Candidate[0]
	for _, trial := range c.Candidate {
		if severity(trial) > severity(shown) {
			shown = trial
		}
	}
	r.CandidateTask, r.Message = shown.Task, shown.Message
	return r
}

func severity(t Trial) int {
	return slices.Index([]TrialOutcome{TrialPassed, TrialInconclusive, TrialFailed}, t.Outcome)
}

var worstFirst = []v1beta1.CaseOutcome{v1beta1.CaseRegressed, v1beta1.CaseFailed, v1beta1.CaseInconclusive, v1beta1.CasePassed}

// Decide returns whether a candidate passes. Every case has as many trials in one lane as in the other.
func Decide(t v1beta1.EvaluationThresholds, cases []Case) Report {
	var r Report
	var baseline, candidate []Trial
	for _, c := range cases {
		result := c.result()
		switch result.Outcome {
		case v1beta1.CaseRegressed:
			r.Regressions++
		case v1beta1.CaseInconclusive:
			r.Inconclusive++
		}
		r.Cases = append(r.Cases, result)
		baseline, candidate = append(baseline, c.Baseline...), append(candidate, c.Candidate...)
	}
	slices.SortFunc(r.Cases, func(a, b v1beta1.CaseResult) int {
		return cmp.Or(cmp.Compare(slices.Index(worstFirst, a.Outcome), slices.Index(worstFirst, b.Outcome)), cmp.Compare(a.CandidatePassed, b.CandidatePassed),
			strings.Compare(a.Case, b.Case), strings.Compare(a.Task, b.Task))
	})
	r.Cases = r.Cases[:min(len(r.Cases), maxCases)]
	r.Baseline, r.Candidate = laneOf(baseline), laneOf(candidate)
	r.CostIncreasePercent = costIncrease(cases)
	r.decide(t)
	return r
}

// decide sets the verdict. What is certain comes first: a candidate with a regression has failed, however many cases are inconclusive.
func (r *Report) decide(t v1beta1.EvaluationThresholds) {
	add := func(verdict v1beta1.Verdict, wrong bool, format string, args ...any) {
		if wrong {
			r.Verdict = cmp.Or(r.Verdict, verdict)
			r.Reasons = append(r.Reasons, fmt.Sprintf(format, args...))
		}
	}
	least := ptr.Deref(t.MinPassRate, 100)
	lane, conclusive := r.Candidate, r.Candidate.Passed+r.Candidate.Failed
	add(v1beta1.VerdictFailed, int64(lane.Passed)*100 < int64(least)*int64(conclusive), "passed: %d of %d runs (at least %d%%)", lane.Passed, conclusive, least)
	add(v1beta1.VerdictFailed, r.Regressions > t.MaxRegressions, "regressions: %d (at most %d)", r.Regressions, t.MaxRegressions)
	most, increase := t.MaxCostIncreasePercent, r.CostIncreasePercent
	add(v1beta1.VerdictFailed, most != nil && increase != nil && *increase > *most, "cost increase: %d%% (at most %d%%)", ptr.Deref(increase, 0), ptr.Deref(most, 0))
	add(v1beta1.VerdictInconclusive, conclusive == 0, "no run of the candidate has an outcome")
	add(v1beta1.VerdictInconclusive, r.Inconclusive > t.MaxInconclusive, "inconclusive: %d (at most %d)", r.Inconclusive, t.MaxInconclusive)
	add(v1beta1.VerdictInconclusive, most != nil && increase == nil,
		"the costs cannot be compared, because the price of a model is not known or no run has an outcome with both revisions")
	r.Verdict = cmp.Or(r.Verdict, v1beta1.VerdictPassed)
}

// Reasons returns why the candidate of a verdict did not pass.
func Reasons(t v1beta1.EvaluationThresholds, s v1beta1.AgentEvaluationStatus) []string {
	if s.Candidate == nil {
		return nil
	}
	r := Report{Candidate: *s.Candidate, Regressions: s.Regressions, Inconclusive: s.Inconclusive, CostIncreasePercent: s.CostIncreasePercent}
	r.decide(t)
	return r.Reasons
}

func laneOf(trials []Trial) v1beta1.EvaluationLane {
	var lane v1beta1.EvaluationLane
	var seconds int64
	cost, known := int64(0), len(trials) > 0
	for _, t := range trials {
		switch t.Outcome {
		case TrialPassed:
			lane.Passed++
		case TrialFailed:
			lane.Failed++
		default:
			lane.Inconclusive++
		}
		lane.TotalTokens = sum(lane.TotalTokens, t.Tokens)
		seconds = sum(seconds, t.Seconds)
		if known = known && t.CostMicros != nil && (lane.Currency == "" || t.Currency == lane.Currency); known {
			cost, lane.Currency = sum(cost, *t.CostMicros), t.Currency
		}
	}
	if all := lane.Passed + lane.Failed; all > 0 {
		rate := lane.Passed * 100 / all
		lane.PassRate = &rate
	}
	if lane.CostMicros = &cost; !known {
		lane.CostMicros, lane.Currency = nil, ""
	}
	if n := int64(len(trials)); n > 0 {
		lane.AverageDurationSeconds = seconds / n
		if seconds%n > 0 {
			lane.AverageDurationSeconds++
		}
	}
	return lane
}

// sum adds two numbers that are not negative.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// costIncrease compares the costs of the trials that ended in both lanes, rounded up. It is nil if there are none, or one has no price.
func costIncrease(cases []Case) *int32 {
	var baseline, candidate int64
	currency, found := "", false
	for _, c := range cases {
		for i := range min(len(c.Baseline), len(c.Candidate)) {
			a, b := c.Baseline[i], c.Candidate[i]
			if a.Outcome == TrialInconclusive || b.Outcome == TrialInconclusive {
				continue
			}
			if !found {
				currency, found = a.Currency, true
			}
			if a.CostMicros == nil || b.CostMicros == nil || a.Currency != currency || b.Currency != currency {
				return nil
			}
			baseline, candidate = sum(baseline, *a.CostMicros), sum(candidate, *b.CostMicros)
		}
	}
	if !found {
		return nil
	}
	increase := int32(0)
	switch baseline {
	case candidate:
	case 0:
		increase = maxIncrease
	default:
		percent := math.Ceil((float64(candidate) - float64(baseline)) * 100 / float64(baseline))
		increase = int32(min(percent, maxIncrease))
	}
	return &increase
}
