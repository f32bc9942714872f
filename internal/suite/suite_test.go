// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

func compile(t *testing.T, expect ...string) *Suite {
	t.Helper()
	s, err := Compile(v1beta1.AgentEvaluationSpec{Cases: []v1beta1.EvaluationCase{{Name: "case", Expect: expect}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// runOf returns a run that looked at a file twice, and submitted data.
func runOf(t *testing.T) Run {
	t.Helper()
	var r Reader
	for _, fact := range []agent.Fact{
		agent.ModelReplied{Calls: []agent.ToolCall{{ID: "1", Tool: "box__read", Arguments: `{"path":"a.txt","lines":3}`}, {ID: "2", Tool: "box__read", Arguments: `{"path":`, Problem: "cut off"}}},
		agent.Recalled{Calls: []agent.RecalledCall{{Call: "1", Outcome: agent.ToolSucceeded}}},
		agent.ModelReplied{Calls: []agent.ToolCall{{ID: "1", Tool: "box__find", Arguments: `{}`}}},
		agent.ToolFinished{Call: "1", Outcome: agent.ToolDenied},
		agent.ModelReplied{Calls: []agent.ToolCall{{ID: "3", Tool: agent.ToolSubmit, Arguments: `{}`}}},
	} {
		r.Read(agent.Event{Fact: fact})
	}
	return r.Run(agent.Task{Instruction: "Count the files."}, agent.Outcome{
		Result: &agent.Result{Text: "Two files.", Summary: "Two.", Data: json.RawMessage(`{"count":2,"names":["a","b"]}`)}, Iterations: 3, Duration: 1500,
		Labels: []string{"untrusted"},
	}, v1beta1.Usage{TotalTokens: 70, ModelCalls: 3})
}

func TestCheck(t *testing.T) {
	for expect, want := range map[string]string{
		`result.text == 'Two files.' && result.summary == 'Two.' && result.details == ''`: "Passed: ",
		`data.count == 2 && 'b' in data.names`:                                            "Passed: ",
		`data.count > 2`:                                                                  "Failed: expect[0] is false.",
		`data.total == 2`:                                                                 "Failed: expect[0] fails: no such key: total",
		`calls.map(c, c.tool + ' ' + c.outcome) == ['box__read Success', 'box__read Failed', 'box__find Denied']`:          "Passed: ",
		`calls[0].arguments.path == 'a.txt' && calls[0].arguments.lines == 3 && calls.all(c, !c.tool.startsWith('write'))`: "Passed: ",
		`usage.tokens == 70 && usage.modelCalls == 3 && usage.iterations == 3 && usage.durationSeconds == 2`:               "Passed: ",
		`usage.costMicros < 1000`: "Inconclusive: expect[0] reads a cost that is not known.",
		`'untrusted' in labels`:   "Passed: ",
	} {
		trial, err := compile(t, expect).Check(t.Context(), "case", "task", runOf(t))
		if got := fmt.Sprintf("%s: %s", trial.Outcome, trial.Message); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", expect, got, err, want)
		}
	}
	trial, _ := compile(t).Check(t.Context(), "case", "task", runOf(t))
	if trial.Outcome != TrialPassed || trial.Tokens != 70 || trial.Seconds != 2 || trial.Task != "task" {
		t.Errorf("a run without expectations: %+v", trial)
	}
}

// TestCheck_Errors: an outage says nothing about a revision, and one that does not end does.
func TestCheck_Errors(t *testing.T) {
	for kind, want := range map[agent.ErrorKind]TrialOutcome{
		agent.ErrorDiverged: TrialInconclusive, agent.ErrorModel: TrialInconclusive, agent.ErrorCancelled: TrialInconclusive, agent.ErrorInvalidSpec: TrialInconclusive,
		agent.ErrorHistoryLost: TrialInconclusive, agent.ErrorTool: TrialInconclusive, agent.ErrorApprovalExpired: TrialInconclusive,
		agent.ErrorIterationLimit: TrialFailed, agent.ErrorLoopDetected: TrialFailed, agent.ErrorOutputSchemaNotMet: TrialFailed, agent.ErrorEmptyReply: TrialFailed,
	} {
		trial, err := compile(t, "true").Check(t.Context(), "case", "task", Run{Outcome: agent.Outcome{Kind: kind, Error: "why"}})
		if err != nil || trial.Outcome != want || trial.Message != string(kind)+": why" {
			t.Errorf("%s: %+v, %v; want %s", kind, trial, err, want)
		}
	}
}

func TestCompile_Errors(t *testing.T) {
	for expect, want := range map[string]string{
		"result.textt == ''": "spec.cases[0].expect[0]: line 1, column 7: undefined field 'textt'",
		"size(calls)":        "spec.cases[0].expect[0]: the result is of type int, not bool",
		"object.x":           "undeclared reference to 'object'",
	} {
		_, err := Compile(v1beta1.AgentEvaluationSpec{Cases: []v1beta1.EvaluationCase{{Name: "case", Expect: []string{expect}}}})
		var located *expr.Error
		if !errors.As(err, &located) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", expect, err, want)
		}
	}
	many := v1beta1.AgentEvaluationSpec{}
	for range maxExpectations + 1 {
		many.Cases = append(many.Cases, v1beta1.EvaluationCase{Name: "case", Expect: []string{"true"}})
	}
	if _, err := Compile(many); err == nil || !strings.Contains(err.Error(), "at most 256") {
		t.Errorf("too many expectations: %v", err)
	}
}

// TestCheck_CostsAreBounded: the authors of evaluations are not trusted.
func TestCheck_CostsAreBounded(t *testing.T) {
	run := runOf(t)
	run.Outcome.Result.Data = json.RawMessage(`{"n":[` + strings.Repeat("1,", 999) + `1]}`)
	trial, err := compile(t, "data.n.all(a, data.n.all(b, data.n.all(c, a + b + c > 0)))").Check(t.Context(), "case", "task", run)
	if err != nil || trial.Outcome != TrialFailed || !strings.Contains(trial.Message, "cost") {
		t.Errorf("%+v, %v", trial, err)
	}
}
