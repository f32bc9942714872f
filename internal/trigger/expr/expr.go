// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package expr compiles and evaluates the CEL expressions and templates of triggers, and the expressions of other
// kinds, which declare their variables with an Environment. The authors are not trusted: the cost, the duration and the
// size of the result are bounded.
package expr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

const (
	// costLimit bounds one evaluation. A cost of 1 is about one operation, or ten characters of text that are read or
	// written.
	costLimit = 200_000
	// maxExpression bounds an expression, in characters.
	maxExpression = 2048
	// MaxExpressions bounds the expressions of a trigger. Each of them is compiled before the next is read.
	MaxExpressions = 64
	// MaxSize bounds the text and the JSON that an expression may result in, in bytes.
	MaxSize = 256 << 10
	// Timeout bounds all evaluations of one firing.
	Timeout = 2 * time.Second
)

// Source is the source of a trigger. It decides which variables an expression may use.
type Source string

const (
	Schedule Source = "schedule"
	// Webhook has the variables trigger, body and headers.
	Webhook Source = "webhook"
	// Watch has the variables trigger, object and oldObject.
	Watch Source = "watch"
)

func (s Source) variables() []string {
	switch s {
	case Webhook:
		return []string{"trigger", "body", "headers"}
	case Watch:
		return []string{"trigger", "object", "oldObject"}
	}
	return []string{"trigger"}
}

// Input contains the values of the variables. A variable that is missing is null.
type Input struct {
	// Trigger describes the firing: name, namespace, id and time.
	Trigger map[string]any
	// Body and Headers are those of a request. The names of headers are in lower case.
	Body    any
	Headers map[string]string
	// Object and OldObject are the watched object now and before.
	Object, OldObject map[string]any
}

func (in Input) activation() (map[string]any, error) {
	for _, value := range []any{in.Body, in.Object, in.OldObject} {
		if _, err := checkInput(value, maxValues, 0); err != nil {
			return nil, err
		}
	}
	headers := make(map[string]any, len(in.Headers))
	for name, value := range in.Headers {
		headers[name] = value
	}
	values := map[string]any{"trigger": in.Trigger, "body": in.Body, "headers": headers, "object": nil, "oldObject": nil}
	if in.Object != nil {
		values["object"] = in.Object
	}
	if in.OldObject != nil {
		values["oldObject"] = in.OldObject
	}
	return values, nil
}

// Error is a failure of an expression, with its place.
type Error struct {
	Field string
	// Line and Column are the place in the expression, from 1; 0 if the place is unknown.
	Line, Column int
	Problem      string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Field + ": " + e.Problem
	}
	return fmt.Sprintf("%s: line %d, column %d: %s", e.Field, e.Line, e.Column, e.Problem)
}

type Program struct {
	field string
	// reads has the names of the variables that the expression contains.
	reads map[string]bool
	plan  func() (cel.Program, error)
}

// Compile compiles an expression that is evaluated often, such as a condition. Field is the field of the spec that
// contains it, for errors.
func Compile(source Source, field, text string) (*Program, error) {
	p, err := compileForFirings(source, field, text)
	if err != nil {
		return nil, err
	}
	return p, p.planOnce()
}

// planOnce creates the executable form of an expression that is evaluated often.
func (p *Program) planOnce() error {
	program, err := p.plan()
	if err != nil {
		return &Error{Field: p.field, Problem: err.Error()}
	}
	p.plan = func() (cel.Program, error) { return program, nil }
	return nil
}

// compileForFirings compiles an expression that is only evaluated for firings. Its executable form has a table of all
// functions, which takes about 9 KB: it is created for each evaluation, in much less time than the record of a firing
// takes.
func compileForFirings(source Source, field, text string) (*Program, error) {
	program, _, err := sources[source].compile(field, text)
	return program, err
}

// compile returns an expression and the type of its result.
func (e *Environment) compile(field, text string) (*Program, *cel.Type, error) {
	env, err := e.env()
	if err != nil {
		return nil, nil, err
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, nil, firstIssue(field, issues)
	}
	if problem := tooComplex(parsed.NativeRep()); problem != "" {
		return nil, nil, &Error{Field: field, Problem: problem}
	}
	compiled, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, nil, firstIssue(field, issues)
	}
	plan := func() (cel.Program, error) {
		return env.Program(compiled, cel.CostLimit(costLimit), cel.CostTracking(sizeCost{}), cel.InterruptCheckFrequency(1),
			cel.CustomDecoratorV2(metered))
	}
	if _, err := plan(); err != nil { // the author should get the error now
		return nil, nil, &Error{Field: field, Problem: err.Error()}
	}
	return &Program{field: field, reads: variablesOf(parsed.NativeRep()), plan: plan}, compiled.OutputType(), nil
}

// firstIssue returns the first of an expression's issues. Further ones are often consequences of it.
func firstIssue(field string, issues *cel.Issues) *Error {
	if all := issues.Errors(); len(all) > 0 {
		issue := all[0]
		e := &Error{Field: field, Problem: strings.TrimSuffix(issue.Message, " (in container '')")}
		if issue.Location != nil {
			e.Line, e.Column = issue.Location.Line(), issue.Location.Column()+1
		}
		return e
	}
	return &Error{Field: field, Problem: issues.Err().Error()}
}

func (p *Program) eval(ctx context.Context, in Input) (ref.Val, error) {
	variables, err := in.activation()
	if err != nil {
		return nil, &Error{Field: p.field, Problem: err.Error()}
	}
	return p.run(ctx, variables)
}

func (p *Program) run(ctx context.Context, variables map[string]any) (ref.Val, error) {
	program, err := p.plan()
	if err != nil {
		return nil, &Error{Field: p.field, Problem: err.Error()}
	}
	variables = maps.Clone(variables)
	m := &meter{ctx: ctx}
	variables[meterName] = m
	value, _, err := program.ContextEval(ctx, variables)
	if err != nil {
		if ctx.Err() != nil {
			return nil, &Error{Field: p.field, Problem: "the evaluation takes too long"}
		}
		return nil, &Error{Field: p.field, Problem: err.Error()}
	}
	if m.unknown {
		return types.NewUnknown(0, nil), nil
	}
	return value, nil
}

func (p *Program) Bool(ctx context.Context, in Input) (bool, error) {
	value, err := p.eval(ctx, in)
	if err != nil {
		return false, err
	}
	return p.boolean(value)
}

// ErrUnknown is the error of a condition whose result depends on the value Unknown.
var ErrUnknown = errors.New("the result depends on values that are not known")

// Unknown returns the value of an unknown variable or field. CEL propagates it, except from within lists and maps,
// where the meter detects it.
func Unknown() any { return types.NewUnknown(0, nil) }

func (p *Program) boolean(value ref.Val) (bool, error) {
	if types.IsUnknown(value) {
		return false, ErrUnknown
	}
	result, ok := value.(types.Bool)
	if !ok {
		return false, &Error{Field: p.field, Problem: fmt.Sprintf("the result is of type %s, not bool", value.Type().TypeName())}
	}
	return bool(result), nil
}

// Value evaluates an expression to a JSON value: nil, a bool, a number, a string, a list or a map.
func (p *Program) Value(ctx context.Context, in Input) (any, error) {
	value, err := p.eval(ctx, in)
	if err != nil {
		return nil, err
	}
	plain, err := toJSON(value)
	if err != nil {
		return nil, &Error{Field: p.field, Problem: err.Error()}
	}
	return plain, nil
}

// Text evaluates an expression to text: strings as they are, other values as JSON.
func (p *Program) Text(ctx context.Context, in Input) (string, error) {
	value, err := p.Value(ctx, in)
	if err != nil {
		return "", err
	}
	return formatText(value)
}
