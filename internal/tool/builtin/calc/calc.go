// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package calc

import (
	"context"
	"fmt"
	"math/big"
)

// Bounds. A full-length expression of full-size numbers takes less than a second.
const (
	maxLength = 4096    // bytes of an expression
	maxDepth  = 200     // nested parentheses, signs and powers
	maxBits   = 1 << 14 // of a numerator or denominator: about 4900 digits
)

// Value is an exact or a rounded number.
type Value struct {
	rat     *big.Rat
	rounded bool
}

// Exact reports whether no rounding was involved.
func (v Value) Exact() bool { return !v.rounded }

// Eval evaluates an expression. Its errors have the position and the reason.
func Eval(ctx context.Context, expression string) (Value, error) {
	if len(expression) > maxLength {
		return Value{}, fmt.Errorf("the expression is %d bytes long, the limit is %d: split it", len(expression), maxLength)
	}
	p := &parser{ctx: ctx, lexer: lexer{text: expression}}
	if err := p.next(); err != nil {
		return Value{}, err
	}
	if p.token.kind == end {
		return Value{}, fmt.Errorf("the expression is empty: write for example (2 + 3) * 4")
	}
	value, err := p.expression()
	if err != nil {
		return Value{}, err
	}
	if p.token.kind != end {
		return Value{}, p.unexpected("an operator or the end")
	}
	return value, nil
}
