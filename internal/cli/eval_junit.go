// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// junitSuite is a report in the form that pipelines read.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string      `xml:"name,attr"`
	Class   string      `xml:"classname,attr"`
	Failure *junitCause `xml:"failure,omitempty"`
	Skipped *junitCause `xml:"skipped,omitempty"`
}

type junitCause struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
}

// junitOf converts a verdict. Inconclusive cases are skipped ones. The verdict is a case of its own: thresholds may permit what failed, or
// refuse a candidate whose cases all passed.
func junitOf(e *v1beta1.AgentEvaluation) junitSuite {
	class := e.Spec.Role + "." + e.Name
	report := junitSuite{Name: e.Name}
	add := func(c junitCase) {
		c.Class = class
		report.Tests++
		if c.Failure != nil {
			report.Failures++
		}
		if c.Skipped != nil {
			report.Skipped++
		}
		report.Cases = append(report.Cases, c)
	}
	s := e.Status
	switch s.Verdict {
	case v1beta1.VerdictPassed:
		add(junitCase{Name: "verdict"})
	case "":
		add(junitCase{Name: "verdict", Skipped: &junitCause{Message: "The current revision is promoted: there is nothing to evaluate."}})
	default:
		add(junitCase{Name: "verdict", Failure: &junitCause{Type: string(s.Verdict), Message: printable(readyOf(e).Message)}})
	}
	listed, last := map[v1beta1.EvaluatedRun]bool{}, v1beta1.CasePassed
	for _, c := range s.Cases {
		listed[v1beta1.EvaluatedRun{Case: c.Case, Task: c.Task}], last = true, c.Outcome
		one := junitCase{Name: c.Case + "/" + c.Task}
		cause := &junitCause{Type: string(c.Outcome), Message: printable(c.Message)}
		switch c.Outcome {
		case v1beta1.CaseRegressed, v1beta1.CaseFailed:
			one.Failure = cause
		case v1beta1.CaseInconclusive:
			one.Skipped = cause
		}
		add(one)
	}
	for _, run := range s.Runs {
		if s.Verdict == "" || listed[v1beta1.EvaluatedRun{Case: run.Case, Task: run.Task}] {
			continue
		}
		one := junitCase{Name: run.Case + "/" + run.Task}
		if last != v1beta1.CasePassed { // the worst come first, so all cases after one that passed did so as well
			one.Skipped = &junitCause{Message: fmt.Sprintf("It is not among the %d worst cases, which the status has.", len(s.Cases))}
		}
		add(one)
	}
	return report
}

// printable removes what XML cannot contain.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' {
			return ' '
		}
		return r
	}, text)
}

func writeJUnit(out io.Writer, e *v1beta1.AgentEvaluation) error {
	data, err := xml.MarshalIndent(junitOf(e), "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	_, err = fmt.Fprintf(out, "%s%s\n", xml.Header, data)
	return err
}
