// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package calc

import (
	"context"
	"fmt"
	"slices"
)

// parser evaluates while it parses: each method consumes the construct it is named after and returns its value.
type parser struct {
	lexer
	ctx   context.Context
	depth int
}

func (p *parser) expression() (Value, error) {
	return p.chain(p.term, "+", "-")
}

func (p *parser) term() (Value, error) {
	return p.chain(p.unary, "*", "/", "%")
}

// chain evaluates operands joined by operators, from left to right.
func (p *parser) chain(operand func() (Value, error), operators ...string) (Value, error) {
	left, err := operand()
	for err == nil && p.is(operators...) {
		operator := p.token
		if err := p.next(); err != nil {
			return Value{}, err
		}
		right, err := operand()
		if err != nil {
			return Value{}, err
		}
		if left, err = p.apply(operator, left, right); err != nil {
			return Value{}, err
		}
	}
	return left, err
}

func (p *parser) unary() (Value, error) {
	if !p.is("+", "-") {
		return p.power()
	}
	sign := p.token.text
	if err := p.enter(); err != nil {
		return Value{}, err
	}
	defer p.leave()
	value, err := p.unary()
	if err != nil || sign == "+" {
		return value, err
	}
	return negate(value), nil
}

func (p *parser) power() (Value, error) {
	base, err := p.primary()
	if err != nil || !p.is("^") {
		return base, err
	}
	operator := p.token
	if err := p.enter(); err != nil {
		return Value{}, err
	}
	defer p.leave()
	exponent, err := p.unary()
	if err != nil {
		return Value{}, err
	}
	return p.apply(operator, base, exponent)
}

func (p *parser) primary() (Value, error) {
	start := p.token
	switch {
	case start.kind == number:
		return Value{rat: start.rat}, p.next()
	case start.kind == name:
		return p.named()
	case start.text == "(":
		values, err := p.parenthesis()
		if err == nil && len(values) != 1 {
			err = fmt.Errorf("character %d: a comma separates arguments of a function; write numbers without thousands separators", start.at)
		}
		if err != nil {
			return Value{}, err
		}
		return values[0], nil
	default:
		return Value{}, p.unexpected("a number, a function or '('")
	}
}

// named reads a constant or a call of a function.
func (p *parser) named() (Value, error) {
	start := p.token
	if err := p.next(); err != nil {
		return Value{}, err
	}
	if value, ok := constant(start.text); ok {
		return value, nil
	}
	f, ok := functions[start.text]
	if !ok {
		return Value{}, fmt.Errorf("character %d: %q is unknown; there are %s", start.at, start.text, knownNames)
	}
	if !p.is("(") {
		return Value{}, p.unexpected("'(' after " + start.text)
	}
	arguments, err := p.parenthesis()
	if err != nil {
		return Value{}, err
	}
	if n := len(arguments); n < f.least || n > f.most {
		return Value{}, fmt.Errorf("character %d: %s has %d arguments, write %s", start.at, start.text, n, f.usage)
	}
	value, err := f.apply(arguments)
	return p.checked(start, value, err)
}

// parenthesis reads "(", expressions that are separated by commas, and ")".
func (p *parser) parenthesis() ([]Value, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	var values []Value
	for {
		value, err := p.expression()
		if err != nil {
			return nil, err
		}
		values = append(values, value)
		if p.is(")") {
			return values, p.next()
		}
		if !p.is(",") {
			return nil, p.unexpected("an operator or ')'")
		}
		if err := p.next(); err != nil {
			return nil, err
		}
	}
}

// apply computes one operation and checks the size of its result.
func (p *parser) apply(operator token, left, right Value) (Value, error) {
	value, err := operators[operator.text](left, right)
	return p.checked(operator, value, err)
}

func (p *parser) checked(at token, value Value, err error) (Value, error) {
	if err == nil {
		err = checkSize(value)
	}
	if err != nil {
		return Value{}, fmt.Errorf("character %d: %s: %w", at.at, at.text, err)
	}
	return value, p.ctx.Err()
}

// enter moves past the token that opens a nested part.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return fmt.Errorf("character %d: nested more than %d deep", p.token.at, maxDepth)
	}
	return p.next()
}

func (p *parser) leave() { p.depth-- }

func (p *parser) is(texts ...string) bool {
	return p.token.kind == symbol && slices.Contains(texts, p.token.text)
}

func (p *parser) unexpected(wanted string) error {
	return fmt.Errorf("character %d: found %q where %s should be", p.token.at, p.token.text, wanted)
}
