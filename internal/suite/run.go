// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"encoding/json"
	"errors"

	"github.com/google/cel-go/cel"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

// Run is what expectations read about a run that has ended.
type Run struct {
	// Task is the work of the run.
	Task    agent.Task
	Outcome agent.Outcome
	// Calls are those of the model's replies in their order, without submit_result, submit_error and set_title.
	Calls []Call
	Usage v1beta1.Usage
}

// Call is a call of a run.
type Call struct {
	Tool      string
	Arguments string
	// Outcome is how the call ended: Success, Failed, Denied or Unknown; empty if it did not.
	Outcome agent.ToolOutcome
}

// Reader collects the calls of a run from its events.
type Reader struct {
	run Run
	// open has the indices of calls by their IDs. A later reply may use the ID of an earlier call again.
	open map[string]int
}

// Read adds the next event.
func (r *Reader) Read(e agent.Event) {
	switch f := e.Fact.(type) {
	case agent.ModelReplied:
		for _, c := range f.Calls {
			r.add(c)
		}
	case agent.Recalled:
		for _, c := range f.Calls {
			if !c.Missing {
				r.end(c.Call, c.Outcome)
			}
		}
	case agent.ToolFinished:
		r.end(f.Call, f.Outcome)
	}
}

func (r *Reader) add(c agent.ToolCall) {
	switch c.Tool {
	case agent.ToolSubmit, agent.ToolGiveUp, agent.ToolTitle:
		return
	}
	call := Call{Tool: c.Tool, Arguments: c.Arguments}
	if c.Problem != "" {
		call.Outcome = agent.ToolFailed
	}
	if r.open == nil {
		r.open = map[string]int{}
	}
	r.open[c.ID] = len(r.run.Calls)
	r.run.Calls = append(r.run.Calls, call)
}

func (r *Reader) end(id string, outcome agent.ToolOutcome) {
	if i, ok := r.open[id]; ok {
		r.run.Calls[i].Outcome = outcome
	}
}

// Run returns the run, of which the status of the task has the usage.
func (r *Reader) Run(task agent.Task, outcome agent.Outcome, usage v1beta1.Usage) Run {
	run := r.run
	run.Task, run.Outcome, run.Usage = task, outcome, usage
	return run
}

// variableJudge is the variable with the data of the judge's result.
const variableJudge = "judge"

// runVariables are those that are about the run itself.
var runVariables = []string{"result", "data", "calls", "usage", "labels"}

// environment declares the variables of expectations.
var environment = expr.NewEnvironment(map[string]*cel.Type{
	"result": cel.ObjectType("Result"), "data": cel.DynType, "calls": cel.ListType(cel.ObjectType("Call")), "usage": cel.ObjectType("Usage"),
	"labels": cel.ListType(cel.StringType), variableJudge: cel.DynType,
}, map[string]expr.Object{
	"Result": {
		"text": cel.StringType, "summary": cel.StringType, "details": cel.StringType, "warnings": cel.ListType(cel.StringType),
		"filesModified": cel.ListType(cel.StringType), "filesCreated": cel.ListType(cel.StringType),
	},
	"Call": {"tool": cel.StringType, "arguments": cel.DynType, "outcome": cel.StringType},
	"Usage": {
		"tokens": cel.IntType, "costMicros": cel.IntType, "modelCalls": cel.IntType, "iterations": cel.IntType, "durationSeconds": cel.IntType,
	},
})

var errArguments = errors.New("the arguments of a call are not JSON")

// variables returns the values of the variables. The error is why the run cannot be judged.
func (r Run) variables() (map[string]any, error) {
	result := agent.Result{}
	if r.Outcome.Result != nil {
		result = *r.Outcome.Result
	}
	data, err := decode(result.Data)
	if err != nil {
		return nil, err
	}
	calls := []any{}
	for _, c := range r.Calls {
		arguments, err := decode(json.RawMessage(c.Arguments))
		if err != nil && c.Outcome != agent.ToolFailed { // the model got an error instead
			return nil, errArguments
		}
		calls = append(calls, map[string]any{"tool": c.Tool, "arguments": arguments, "outcome": string(c.Outcome)})
	}
	cost := expr.Unknown()
	if r.Usage.CostMicros != nil {
		cost = *r.Usage.CostMicros
	}
	if err := expr.CheckValue(map[string]any{"data": data, "calls": calls}); err != nil {
		return nil, err
	}
	return map[string]any{
		"result": map[string]any{
			"text": result.Text, "summary": result.Summary, "details": result.Details, "warnings": list(result.Warnings),
			"filesModified": list(result.FilesModified), "filesCreated": list(result.FilesCreated),
		},
		"data": data, "calls": calls, "labels": list(r.Outcome.Labels),
		"usage": map[string]any{
			"tokens": r.Usage.TotalTokens, "costMicros": cost, "modelCalls": r.Usage.ModelCalls,
			"iterations": int64(r.Outcome.Iterations), "durationSeconds": seconds(r.Outcome.Duration),
		},
	}, nil
}

// decode returns a JSON value; nil without one.
func decode(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var value any
	err := json.Unmarshal(raw, &value)
	return value, err
}

func list(texts []string) []any {
	values := make([]any, 0, len(texts))
	for _, text := range texts {
		values = append(values, text)
	}
	return values
}

// seconds rounds up.
func seconds(d agent.Millis) int64 { return (int64(d) + 999) / 1000 }
