// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"context"
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

const (
	// maxSteps bounds the values that one evaluation traverses. Ten characters of text count as one value.
	maxSteps = 500_000
	// stepsPerCheck is how many steps are taken between two checks of the context.
	stepsPerCheck = 1000
	// charsPerStep is the number of characters that count as one step.
	charsPerStep = 10
	// maxPattern bounds a regular expression, which is compiled before its complexity can be measured.
	maxPattern = 1000
	// maxValues and maxInputDepth bound a body or an object.
	maxValues     = 50_000
	maxInputDepth = 64
)

// meter counts what an evaluation traverses. CEL charges a call after it has returned, by the lengths of its operands,
// and cannot interrupt it. A list that contains another one many times has few elements and takes little memory, but a
// comparison visits each of them each time.
type meter struct {
	ctx   context.Context
	steps int
	// unknown reports that an unknown value was compared or combined as a part of others.
	unknown bool
}

// meterName is the variable with the meter. No expression can contain this name.
const meterName = "#meter"

func frameMeter(frame *interpreter.ExecutionFrame) *meter {
	value, _ := frame.ResolveName(meterName)
	m, ok := value.(*meter)
	if !ok {
		return &meter{ctx: context.Background()} // of a constant that is evaluated while the expression is compiled
	}
	return m
}

// take counts steps. It ends the evaluation if there were too many, or if its context has ended.
func (m *meter) take(steps int) {
	before := m.steps
	if steps > maxSteps-before {
		panic(interpreter.EvalCancelledError{
			Cause: interpreter.CostLimitExceeded, Message: "the values that are compared or combined are too large",
		})
	}
	m.steps += steps
	if before/stepsPerCheck != m.steps/stepsPerCheck && m.ctx.Err() != nil {
		panic(interpreter.EvalCancelledError{Cause: interpreter.ContextCancelled, Message: m.ctx.Err().Error()})
	}
}

// visit counts a value and all values in it, as often as they occur.
func (m *meter) visit(value ref.Val) {
	m.take(1)
	switch v := value.(type) {
	case *types.Unknown:
		m.unknown = true
	case types.String:
		m.take(len(v) / charsPerStep)
	case types.Bytes:
		m.take(len(v) / charsPerStep)
	case *types.Optional:
		if v.HasValue() {
			m.visit(v.GetValue())
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			m.visit(it.Next())
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			m.visit(key)
			if item, ok := v.Find(key); ok {
				m.visit(item)
			}
		}
	}
}

// metered makes the nodes of an expression that traverse values, or combine them to larger ones, count their steps.
func metered(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	switch n := node.(type) {
	case interpreter.InterpretableConstructor:
		return &meteredConstructor{n}, nil
	case interpreter.InterpretableCall:
		switch n.Function() {
		case operators.Equals:
			return &meteredCall{n, func(m *meter, a, b ref.Val) ref.Val { return m.equal(a, b) }}, nil
		case operators.NotEquals:
			return &meteredCall{n, func(m *meter, a, b ref.Val) ref.Val { return types.Bool(m.equal(a, b) != types.True) }}, nil
		case operators.In:
			return &meteredCall{n, (*meter).contains}, nil
		case operators.Add:
			return &meteredCall{n, (*meter).add}, nil
		case overloads.Matches:
			return &meteredCall{n, matcher(n)}, nil
		}
	}
	return node, nil
}

// meteredConstructor is a literal list or map.
type meteredConstructor struct {
	interpreter.InterpretableConstructor
}

func (c *meteredConstructor) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	value := c.InterpretableConstructor.Exec(frame)
	frameMeter(frame).visit(value)
	return value
}

func (c *meteredConstructor) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

type meteredCall struct {
	interpreter.InterpretableCall
	apply func(m *meter, a, b ref.Val) ref.Val
}

func (c *meteredCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	var values [2]ref.Val
	args := c.Args()
	if len(args) != len(values) {
		return types.NoSuchOverloadErr()
	}
	for i, arg := range args {
		values[i] = arg.Exec(frame)
	}
	for _, value := range values {
		if types.IsUnknownOrError(value) {
			return value
		}
	}
	return types.LabelErrNode(c.ID(), c.apply(frameMeter(frame), values[0], values[1]))
}

func (c *meteredCall) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

func (m *meter) equal(a, b ref.Val) ref.Val {
	m.visit(a)
	m.visit(b)
	return types.Equal(a, b)
}

func (m *meter) contains(item, container ref.Val) ref.Val {
	in, ok := container.(traits.Container)
	if !ok {
		return types.MaybeNoSuchOverloadErr(container)
	}
	if list, isList := container.(traits.Lister); isList {
		// Each comparison visits the smaller of both at most, and each value of the list once.
		m.visit(list)
	}
	m.visit(item)
	return in.Contains(item)
}

func (m *meter) add(a, b ref.Val) ref.Val {
	adder, ok := a.(traits.Adder)
	if !ok {
		return types.MaybeNoSuchOverloadErr(a)
	}
	if _, grows := a.(traits.MutableLister); grows {
		return adder.Add(b) // a macro appends an element, which is counted
	}
	sum := adder.Add(b)
	if list, isList := sum.(traits.Lister); isList {
		m.visit(list)
	}
	return sum
}

// matcher returns the implementation of a call of matches. A constant pattern is compiled once.
func matcher(call interpreter.InterpretableCall) func(*meter, ref.Val, ref.Val) ref.Val {
	if args := call.Args(); len(args) == 2 {
		if constant, ok := args[1].(interpreter.InterpretableConst); ok {
			if p, problem := compilePattern(constant.Value()); problem == nil {
				return func(m *meter, text, _ ref.Val) ref.Val { return m.matches(text, p) }
			}
		}
	}
	return func(m *meter, text, pattern ref.Val) ref.Val {
		p, problem := compilePattern(pattern)
		if problem != nil {
			return problem
		}
		return m.matches(text, p)
	}
}

// pattern is a compiled regular expression with its size.
type pattern struct {
	*regexp.Regexp
	steps int
}

// compilePattern returns a value that is an error if a pattern cannot be used.
func compilePattern(value ref.Val) (pattern, ref.Val) {
	p, ok := value.(types.String)
	if !ok {
		return pattern{}, types.MaybeNoSuchOverloadErr(value)
	}
	if len(p) > maxPattern {
		return pattern{}, types.NewErr("the regular expression has more than %d characters", maxPattern)
	}
	parsed, err := syntax.Parse(string(p), syntax.Perl)
	if err != nil {
		return pattern{}, types.WrapErr(err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return pattern{}, types.WrapErr(err)
	}
	expression, err := regexp.Compile(string(p))
	if err != nil {
		return pattern{}, types.WrapErr(err)
	}
	return pattern{expression, len(program.Inst)}, nil
}

func (m *meter) matches(text ref.Val, p pattern) ref.Val {
	s, ok := text.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(text)
	}
	m.take(p.steps * (1 + len(s)/charsPerStep))
	return types.Bool(p.MatchString(string(s)))
}

// lazyMaps iterates over a map without a copy of its keys. CEL's own conversion copies them at the start of each loop,
// at no cost for the expression.
type lazyMaps struct{ types.Adapter }

func (a lazyMaps) NativeToValue(value any) ref.Val {
	switch v := value.(type) {
	case map[string]any:
		return types.NewDynamicMap(a, v)
	case []any:
		return types.NewDynamicList(a, v)
	}
	return a.Adapter.NativeToValue(value)
}

var errTooDeep = fmt.Errorf("the body or object is nested more than %d levels deep", maxInputDepth)

// checkInput returns an error if a value is too large to be evaluated. It returns how many values are left.
func checkInput(value any, left, depth int) (int, error) {
	if depth > maxInputDepth {
		return 0, errTooDeep
	}
	if left--; left < 0 {
		return 0, fmt.Errorf("the body or object has more than %d values", maxValues)
	}
	var err error
	switch v := value.(type) {
	case map[string]any:
		for _, item := range v {
			if left, err = checkInput(item, left, depth+1); err != nil {
				return 0, err
			}
		}
	case []any:
		for _, item := range v {
			if left, err = checkInput(item, left, depth+1); err != nil {
				return 0, err
			}
		}
	}
	return left, nil
}
