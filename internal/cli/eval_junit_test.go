// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func evaluated(verdict v1beta1.Verdict, runs int, cases ...v1beta1.CaseResult) *v1beta1.AgentEvaluation {
	e := &v1beta1.AgentEvaluation{ObjectMeta: metav1.ObjectMeta{Name: "poems"}, Spec: v1beta1.AgentEvaluationSpec{Role: "poet"}}
	e.Status = v1beta1.AgentEvaluationStatus{Verdict: verdict, Cases: cases,
		Conditions: []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, Message: "regressions: 1 (at most 0)"}}}
	for i := range runs {
		e.Status.Runs = append(e.Status.Runs, v1beta1.EvaluatedRun{Case: "all", Task: fmt.Sprint("t", i)})
	}
	return e
}

func TestWriteJUnit(t *testing.T) {
	var out bytes.Buffer
	e := evaluated(v1beta1.VerdictFailed, 4, v1beta1.CaseResult{Case: "all", Task: "t2", Outcome: v1beta1.CaseRegressed, Message: "expect[0] is \"false\".\x00"},
		v1beta1.CaseResult{Case: "all", Task: "t1", Outcome: v1beta1.CaseInconclusive, Message: "Diverged"}, v1beta1.CaseResult{Case: "all", Task: "t0", Outcome: v1beta1.CasePassed})
	if err := writeJUnit(&out, e); err != nil {
		t.Fatal(err)
	}
	want := `<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="poems" tests="5" failures="2" skipped="1">
  <testcase name="verdict" classname="poet.poems">
    <failure type="Failed" message="regressions: 1 (at most 0)"></failure>
  </testcase>
  <testcase name="all/t2" classname="poet.poems">
    <failure type="Regressed" message="expect[0] is &#34;false&#34;. "></failure>
  </testcase>
  <testcase name="all/t1" classname="poet.poems">
    <skipped type="Inconclusive" message="Diverged"></skipped>
  </testcase>
  <testcase name="all/t0" classname="poet.poems"></testcase>
  <testcase name="all/t3" classname="poet.poems"></testcase>
</testsuite>
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestJUnit_Unlisted: a case beyond those of the status has passed only if the last of them has.
func TestJUnit_Unlisted(t *testing.T) {
	report := junitOf(evaluated(v1beta1.VerdictFailed, 2, v1beta1.CaseResult{Case: "all", Task: "t0", Outcome: v1beta1.CaseFailed}))
	if last := report.Cases[2]; report.Tests != 3 || last.Skipped == nil || !strings.Contains(last.Skipped.Message, "not among the 1 worst cases") {
		t.Errorf("%+v", report)
	}
	report = junitOf(evaluated("", 2))
	if len(report.Cases) != 1 || report.Failures != 0 || report.Skipped != 1 {
		t.Errorf("without a candidate: %+v", report)
	}
}
