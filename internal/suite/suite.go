// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

const (
	// maxExpectations bounds the expectations of a suite, which are kept in memory.
	maxExpectations = 256
	// maxMessage bounds the message of a trial.
	maxMessage = 256
)

// Suite is a compiled AgentEvaluation. It depends on the spec only, so it is compiled once for each generation.
type Suite struct {
	cases map[string]expectations
}

// expectations are those of a case.
type expectations struct {
	// own are about the run alone, and judged also read the data of the judge.
	own, judged []expectation
}

type expectation struct {
	// index is its place in the spec.
	index     int
	condition *expr.Condition
}

// Compile compiles the expectations of an evaluation.
func Compile(spec v1beta1.AgentEvaluationSpec) (*Suite, error) {
	s := &Suite{cases: map[string]expectations{}}
	count, judged := 0, false
	for i, c := range spec.Cases {
		if count += len(c.Expect); count > maxExpectations {
			return nil, &expr.Error{Field: "spec.cases", Problem: fmt.Sprintf("an evaluation may have at most %d expectations", maxExpectations)}
		}
		compiled, err := compileCase(fmt.Sprintf("spec.cases[%d].expect", i), c.Expect, spec.Judge != "")
		if err != nil {
			return nil, err
		}
		s.cases[c.Name] = compiled
		judged = judged || len(compiled.judged) > 0
	}
	if spec.Judge != "" && !judged {
		return nil, &expr.Error{Field: "spec.judge", Problem: "no expectation reads the variable judge: add one that does, or leave the judge out"}
	}
	return s, nil
}

// compileCase compiles the expectations of a case. The data of a judge never decides alone, because the text that it judges may mislead it.
func compileCase(field string, texts []v1beta1.Expectation, hasJudge bool) (expectations, error) {
	var compiled expectations
	alone := true
	for i, text := range texts {
		place := fmt.Sprintf("%s[%d]", field, i)
		condition, err := environment.Condition(place, text)
		if err != nil {
			return compiled, err
		}
		e := expectation{i, condition}
		if !condition.Reads(variableJudge) {
			compiled.own = append(compiled.own, e)
			alone = alone && !slices.ContainsFunc(runVariables, condition.Reads)
			continue
		}
		if !hasJudge {
			return compiled, &expr.Error{Field: place, Problem: "the variable judge has the data of the role spec.judge, which is not set"}
		}
		compiled.judged = append(compiled.judged, e)
	}
	if len(compiled.judged) > 0 && alone {
		return compiled, &expr.Error{Field: field, Problem: fmt.Sprintf(
			"a judge must not decide alone: add an expectation that reads %s, and not judge", strings.Join(runVariables, ", "))}
	}
	return compiled, nil
}

// Asks reports whether a case has expectations that read the data of the judge.
func (s *Suite) Asks(name string) bool { return len(s.cases[name].judged) > 0 }

// TrialOutcome is the outcome of a run in a case.
type TrialOutcome string

// The outcomes of trials.
const (
	TrialPassed TrialOutcome = "Passed"
	TrialFailed TrialOutcome = "Failed"
	// TrialInconclusive: the run shows nothing about its revision.
	TrialInconclusive TrialOutcome = "Inconclusive"
)

// Trial is a run of a revision in a case.
type Trial struct {
	// Task is the AgentTask of the run.
	Task    string
	Outcome TrialOutcome
	// Message is why it did not pass.
	Message string
	// Tokens, CostMicros and Seconds are those of the run. CostMicros is nil if it is not known.
	Tokens     int64
	CostMicros *int64
	Currency   string
	Seconds    int64
}

// Inconclusive returns a trial without an outcome.
func Inconclusive(task, message string) Trial {
	return Trial{Task: task, Outcome: TrialInconclusive, Message: shorten.Head(shorten.Line(message), maxMessage)}
}

// revisionFails has the kinds of errors with which a revision itself has failed. With others, such as an outage of the model or a call that
// is not in the record, the run shows nothing about it.
var revisionFails = map[agent.ErrorKind]bool{
	agent.ErrorTimedOut: true, agent.ErrorIterationLimit: true, agent.ErrorDepthLimit: true, agent.ErrorBudgetExhausted: true,
	agent.ErrorLoopDetected: true, agent.ErrorSubAgent: true, agent.ErrorReviewRejected: true, agent.ErrorEmptyReply: true,
	agent.ErrorReplyCutOff: true, agent.ErrorInvalidArguments: true, agent.ErrorOutputSchemaNotMet: true,
}

// Check checks a run by those expectations of its case that do not read the data of the judge. The error is that the context has ended.
func (s *Suite) Check(ctx context.Context, name, task string, run Run) (Trial, error) {
	t := Trial{
		Task: task, Outcome: TrialPassed, Tokens: run.Usage.TotalTokens, CostMicros: run.Usage.CostMicros, Currency: run.Usage.Currency,
		Seconds: seconds(run.Outcome.Duration),
	}
	if o := run.Outcome; !o.Succeeded() {
		outcome := TrialInconclusive
		if revisionFails[o.Kind] {
			outcome = TrialFailed
		}
		return t.ended(outcome, fmt.Sprintf("%s: %s", o.Kind, o.Error)), nil
	}
	return s.check(ctx, name, t, run, s.cases[name].own, nil)
}

// CheckJudged checks a run that has passed Check by the other expectations of its case. The data is that of the judge.
func (s *Suite) CheckJudged(ctx context.Context, name string, passed Trial, run Run, data json.RawMessage) (Trial, error) {
	judge, ok := judgeData(data)
	if !ok {
		return passed.Inconclusive("The judge has no data that can be read."), nil
	}
	return s.check(ctx, name, passed, run, s.cases[name].judged, judge)
}

func (s *Suite) check(ctx context.Context, name string, t Trial, run Run, expected []expectation, judge map[string]any) (Trial, error) {
	if len(expected) == 0 {
		return t, nil
	}
	variables, err := run.variables()
	if err != nil {
		return t.ended(TrialInconclusive, "The run cannot be judged: "+err.Error()), nil //nolint:nilerr // the trial has a message about it
	}
	if judge != nil {
		variables[variableJudge] = judge
	}
	for _, e := range expected {
		holds, err := e.condition.Holds(ctx, variables)
		if ctx.Err() != nil { // that the operator was busy says nothing about the run
			return t, fmt.Errorf("evaluate expect[%d] of case %s: %w", e.index, name, ctx.Err())
		}
		switch {
		case holds:
		case errors.Is(err, expr.ErrUnknown):
			return t.ended(TrialInconclusive, fmt.Sprintf("expect[%d] reads a cost that is not known.", e.index)), nil
		case err != nil:
			return t.ended(TrialFailed, fmt.Sprintf("expect[%d] fails: %s", e.index, problemOf(err))), nil
		default:
			return t.ended(TrialFailed, fmt.Sprintf("expect[%d] is false.", e.index)), nil
		}
	}
	return t, nil
}

// ended returns the trial with an outcome. The message may have text of the run.
func (t Trial) ended(outcome TrialOutcome, message string) Trial {
	t.Outcome, t.Message = outcome, shorten.Head(shorten.UntrustedLine(message, maxMessage), maxMessage)
	return t
}

// Inconclusive returns the trial without an outcome, because its judge has none.
func (t Trial) Inconclusive(message string) Trial { return t.ended(TrialInconclusive, message) }

func problemOf(err error) string {
	var located *expr.Error
	if errors.As(err, &located) {
		return located.Problem
	}
	return err.Error()
}
