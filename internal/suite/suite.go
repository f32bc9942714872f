// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"fmt"

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
	cases map[string][]*expr.Condition
}

// Compile compiles the expectations of an evaluation.
func Compile(spec v1beta1.AgentEvaluationSpec) (*Suite, error) {
	s := &Suite{cases: map[string][]*expr.Condition{}}
	count := 0
	for i, c := range spec.Cases {
		if count += len(c.Expect); count > maxExpectations {
			return nil, &expr.Error{Field: "spec.cases", Problem: fmt.Sprintf("an evaluation may have at most %d expectations", maxExpectations)}
		}
		for j, text := range c.Expect {
			condition, err := environment.Condition(fmt.Sprintf("spec.cases[%d].expect[%d]", i, j), text)
			if err != nil {
				return nil, err
			}
			s.cases[c.Name] = append(s.cases[c.Name], condition)
		}
	}
	return s, nil
}

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

// Check judges a run by the expectations of its case. The error is that the context has ended.
func (s *Suite) Check(ctx context.Context, name, task string, run Run) (Trial, error) {
	t := Trial{
		Task: task, Outcome: TrialPassed, Tokens: run.Usage.TotalTokens, CostMicros: run.Usage.CostMicros, Currency: run.Usage.Currency,
		Seconds: seconds(run.Outcome.Duration),
	}
	end := func(outcome TrialOutcome, message string) (Trial, error) {
		t.Outcome, t.Message = outcome, shorten.Head(shorten.UntrustedLine(message, maxMessage), maxMessage)
		return t, nil
	}
	if o := run.Outcome; !o.Succeeded() {
		outcome := TrialInconclusive
		if revisionFails[o.Kind] {
			outcome = TrialFailed
		}
		return end(outcome, fmt.Sprintf("%s: %s", o.Kind, o.Error))
	}
	if len(s.cases[name]) == 0 {
		return t, nil
	}
	variables, err := run.variables()
	if err != nil {
		return end(TrialInconclusive, "The run cannot be judged: "+err.Error())
	}
	for i, expected := range s.cases[name] {
		holds, err := expected.Holds(ctx, variables)
		if ctx.Err() != nil { // that the operator was busy says nothing about the run
			return t, fmt.Errorf("evaluate expect[%d] of case %s: %w", i, name, ctx.Err())
		}
		switch {
		case holds:
		case errors.Is(err, expr.ErrUnknown):
			return end(TrialInconclusive, fmt.Sprintf("expect[%d] reads a cost that is not known.", i))
		case err != nil:
			return end(TrialFailed, fmt.Sprintf("expect[%d] fails: %s", i, problemOf(err)))
		default:
			return end(TrialFailed, fmt.Sprintf("expect[%d] is false.", i))
		}
	}
	return t, nil
}

func problemOf(err error) string {
	var located *expr.Error
	if errors.As(err, &located) {
		return located.Problem
	}
	return err.Error()
}
