// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// trials returns one trial for each letter: p passed, f failed, i is inconclusive. Each costs 100.
func trials(letters string) []Trial {
	var all []Trial
	for i, letter := range letters {
		outcome := map[rune]TrialOutcome{'p': TrialPassed, 'f': TrialFailed, 'i': TrialInconclusive}[letter]
		all = append(all, Trial{Task: fmt.Sprint("t", i), Outcome: outcome, Tokens: 10, CostMicros: ptr.To[int64](100), Currency: "USD", Seconds: 3})
	}
	return all
}

// suiteOf returns cases as "baseline/candidate".
func suiteOf(all ...string) []Case {
	var cases []Case
	for i, one := range all {
		baseline, candidate, _ := strings.Cut(one, "/")
		cases = append(cases, Case{Name: fmt.Sprintf("c%03d", i), Task: "task", Baseline: trials(baseline), Candidate: trials(candidate)})
	}
	return cases
}

func TestDecide(t *testing.T) {
	strict := v1beta1.EvaluationThresholds{}
	half := v1beta1.EvaluationThresholds{MinPassRate: ptr.To[int32](50), MaxRegressions: 1, MaxInconclusive: 1}
	for name, c := range map[string]struct {
		thresholds v1beta1.EvaluationThresholds
		cases      []Case
		want       string
	}{
		"a fix":                         {strict, suiteOf("f/p", "p/p"), "Passed"},
		"a regression":                  {strict, suiteOf("p/f", "p/p"), "Failed: passed: 1 of 2 runs (at least 100%); regressions: 1 (at most 0)"},
		"one regression that may be":    {half, suiteOf("p/f", "p/p"), "Passed"},
		"two regressions":               {half, suiteOf("p/f", "p/f", "p/p", "p/p"), "Failed: regressions: 2 (at most 1)"},
		"noise":                         {half, suiteOf("ppp/pfp"), "Passed"},
		"noise in the baseline":         {half, suiteOf("pff/ffp", "p/p", "p/p", "p/p"), "Passed"},
		"a diverging candidate":         {strict, suiteOf("p/i", "p/p"), "Inconclusive: inconclusive: 1 (at most 0)"},
		"one that diverges and may":     {half, suiteOf("p/i", "p/p"), "Passed"},
		"a diverging baseline":          {strict, suiteOf("i/p"), "Passed"},
		"a failure without a baseline":  {strict, suiteOf("i/f"), "Failed: passed: 0 of 1 runs (at least 100%)"},
		"nothing but divergence":        {half, suiteOf("p/i"), "Inconclusive: no run of the candidate has an outcome"},
		"a failure beside a divergence": {strict, suiteOf("p/f", "p/i"), "Failed: passed: 0 of 1 runs (at least 100%); regressions: 1 (at most 0); inconclusive: 1 (at most 0)"},
	} {
		r := Decide(c.thresholds, c.cases)
		got := string(r.Verdict)
		if len(r.Reasons) > 0 {
			got += ": " + strings.Join(r.Reasons, "; ")
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestDecide_Cost(t *testing.T) {
	limit := func(percent int32) v1beta1.EvaluationThresholds {
		return v1beta1.EvaluationThresholds{MaxCostIncreasePercent: &percent}
	}
	cases := suiteOf("p/p", "i/p")
	cases[0].Candidate[0].CostMicros = ptr.To[int64](121)
	cases[1].Candidate[0].CostMicros = ptr.To[int64](9000) // it has no baseline
	if r := Decide(limit(20), cases); r.Verdict != v1beta1.VerdictFailed || *r.CostIncreasePercent != 21 || *r.Candidate.CostMicros != 9121 {
		t.Errorf("%+v", r)
	}
	if r := Decide(limit(21), cases); r.Verdict != v1beta1.VerdictPassed {
		t.Errorf("%+v", r)
	}
	cases[0].Baseline[0].CostMicros = nil
	r := Decide(limit(21), cases)
	if r.Verdict != v1beta1.VerdictInconclusive || r.CostIncreasePercent != nil || r.Baseline.CostMicros != nil || r.Baseline.Currency != "" {
		t.Errorf("%+v", r)
	}
	if r := Decide(v1beta1.EvaluationThresholds{}, cases); r.Verdict != v1beta1.VerdictPassed {
		t.Errorf("without a threshold: %+v", r)
	}
}

func TestDecide_WorstFirst(t *testing.T) {
	cases := suiteOf("p/p", "p/i", "f/f", "p/f")
	cases[3].Candidate[0].Message = "expect[0] is false."
	r := Decide(v1beta1.EvaluationThresholds{}, cases)
	want := []v1beta1.CaseResult{
		{Case: "c003", Task: "task", Outcome: v1beta1.CaseRegressed, BaselinePassed: 1, CandidateTask: "t0", Message: "expect[0] is false."},
		{Case: "c002", Task: "task", Outcome: v1beta1.CaseFailed, CandidateTask: "t0"},
		{Case: "c001", Task: "task", Outcome: v1beta1.CaseInconclusive, BaselinePassed: 1, CandidateTask: "t0"},
		{Case: "c000", Task: "task", Outcome: v1beta1.CasePassed, BaselinePassed: 1, CandidatePassed: 1, CandidateTask: "t0"},
	}
	if diff := cmp.Diff(want, r.Cases); diff != "" {
		t.Error(diff)
	}
	wantLane := v1beta1.EvaluationLane{Passed: 1, Failed: 2, Inconclusive: 1, PassRate: ptr.To[int32](33), TotalTokens: 40, CostMicros: ptr.To[int64](400), Currency: "USD", AverageDurationSeconds: 3}
	if diff := cmp.Diff(wantLane, r.Candidate); diff != "" {
		t.Error(diff)
	}
}

// TestDecide_Properties: the verdict does not depend on the order of cases, an equal candidate of which nothing is inconclusive never
// regresses, and one more failure never improves a verdict.
func TestDecide_Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		thresholds := v1beta1.EvaluationThresholds{
			MinPassRate: ptr.To(rapid.Int32Range(0, 100).Draw(t, "rate")), MaxRegressions: rapid.Int32Range(0, 3).Draw(t, "regressions"),
			MaxInconclusive: rapid.Int32Range(0, 3).Draw(t, "inconclusive"),
		}
		repeats := rapid.IntRange(1, 4).Draw(t, "repeats")
		lane := rapid.StringOfN(rapid.RuneFrom([]rune("pfi")), repeats, repeats, -1)
		var specs []string
		for range rapid.IntRange(1, 60).Draw(t, "cases") {
			specs = append(specs, lane.Draw(t, "baseline")+"/"+lane.Draw(t, "candidate"))
		}
		cases := suiteOf(specs...)
		r := Decide(thresholds, cases)
		if len(r.Cases) != min(len(cases), maxCases) || !slices.IsSortedFunc(r.Cases, func(a, b v1beta1.CaseResult) int {
			return slices.Index(worstFirst, a.Outcome) - slices.Index(worstFirst, b.Outcome)
		}) {
			t.Fatalf("the cases: %v", r.Cases)
		}
		reversed := slices.Clone(cases)
		slices.Reverse(reversed)
		if diff := cmp.Diff(r, Decide(thresholds, reversed)); diff != "" {
			t.Fatal(diff)
		}
		for i := range cases {
			cases[i].Baseline = cases[i].Candidate
		}
		if same := Decide(thresholds, cases); same.Regressions != 0 {
			t.Fatalf("a candidate regressed from itself: %+v", same)
		}
		cases = suiteOf(specs...)
		i := rapid.IntRange(0, len(cases)-1).Draw(t, "worse")
		if cases[i].Candidate[0].Outcome != TrialPassed {
			return
		}
		cases[i].Candidate[0].Outcome = TrialFailed
		if worse := Decide(thresholds, cases); r.Verdict == v1beta1.VerdictFailed && worse.Verdict != r.Verdict {
			t.Fatalf("%s became %s with a failure", r.Verdict, worse.Verdict)
		}
	})
}
