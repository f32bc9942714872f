// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package calc

import (
	"errors"
	"math/big"
)

type function struct {
	usage       string
	least, most int
	apply       func([]Value) (Value, error)
}

const (
	manyArguments = maxLength
	knownNames    = "sqrt, root, abs, min, max, round, floor, ceil, pi and e"
)

var functions = map[string]function{
	"sqrt":  {"sqrt(x)", 1, 1, func(a []Value) (Value, error) { return sqrt(a[0]) }},
	"root":  {"root(x, n)", 2, 2, func(a []Value) (Value, error) { return root(a[0], a[1]) }},
	"abs":   {"abs(x)", 1, 1, absolute},
	"min":   {"min(a, b, ...)", 1, manyArguments, extreme(-1)},
	"max":   {"max(a, b, ...)", 1, manyArguments, extreme(+1)},
	"floor": {"floor(x)", 1, 1, func(a []Value) (Value, error) { return integerValue(floor(a[0].rat), a[0]), nil }},
	"ceil":  {"ceil(x)", 1, 1, ceiling},
	"round": {"round(x) or round(x, digits)", 1, 2, round},
}

// The constants, to more digits than a rounded value shows.
const (
	piDigits    = "3.14159265358979323846264338327950288419716939937510582097494"
	eulerDigits = "2.71828182845904523536028747135266249775724709369995957496697"
)

func constant(name string) (Value, bool) {
	switch name {
	case "pi", "π":
		return rounded(piDigits), true
	case "e":
		return rounded(eulerDigits), true
	default:
		return Value{}, false
	}
}

func rounded(digits string) Value {
	rat, _ := new(big.Rat).SetString(digits)
	return Value{rat, true}
}

func integerValue(i *big.Int, of Value) Value { return Value{new(big.Rat).SetInt(i), of.rounded} }

func absolute(a []Value) (Value, error) {
	return Value{new(big.Rat).Abs(a[0].rat), a[0].rounded}, nil
}

// extreme returns the smallest (sign -1) or the largest (sign +1) argument. The result counts as rounded if any
// argument was, because that argument might have been the extreme one.
func extreme(sign int) func([]Value) (Value, error) {
	return func(arguments []Value) (Value, error) {
		best := arguments[0]
		for _, a := range arguments[1:] {
			inexact := best.rounded || a.rounded
			if a.rat.Cmp(best.rat) == sign {
				best = a
			}
			best.rounded = inexact
		}
		return best, nil
	}
}

func ceiling(a []Value) (Value, error) {
	down := floor(new(big.Rat).Neg(a[0].rat))
	return integerValue(down.Neg(down), a[0]), nil
}

// round rounds half away from zero to a number of decimals. The result is exact if the argument was.
func round(a []Value) (Value, error) {
	digits := 0
	if len(a) == 2 {
		d := a[1].rat
		if !d.IsInt() || d.Num().CmpAbs(big.NewInt(1000)) > 0 {
			return Value{}, errors.New("digits must be a whole number from -1000 to 1000")
		}
		digits = int(d.Num().Int64())
	}
	r := scale(new(big.Rat).Abs(a[0].rat), digits)
	r.SetInt(floor(r.Add(r, big.NewRat(1, 2))))
	if a[0].rat.Sign() < 0 {
		r.Neg(r)
	}
	return Value{scale(r, -digits), a[0].rounded}, nil
}
