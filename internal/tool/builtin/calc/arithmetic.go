// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package calc

import (
	"errors"
	"fmt"
	"math"
	"math/big"
)

// rootDigits is the number of significant digits of an irrational root. It exceeds shownDigits, so that sqrt(2)^2
// still prints as 2.
const rootDigits = 50

var errTooLarge = fmt.Errorf("the result would have more than %d digits", maxBits*3/10)

var operators = map[string]func(a, b Value) (Value, error){
	"+": exactOperator((*big.Rat).Add),
	"-": exactOperator((*big.Rat).Sub),
	"*": exactOperator((*big.Rat).Mul),
	"/": divide,
	"%": modulo,
	"^": power,
}

func exactOperator(operation func(z, x, y *big.Rat) *big.Rat) func(a, b Value) (Value, error) {
	return func(a, b Value) (Value, error) {
		return Value{operation(new(big.Rat), a.rat, b.rat), a.rounded || b.rounded}, nil
	}
}

func negate(a Value) Value { return Value{new(big.Rat).Neg(a.rat), a.rounded} }

func divide(a, b Value) (Value, error) {
	if b.rat.Sign() == 0 {
		return Value{}, errors.New("division by zero")
	}
	return Value{new(big.Rat).Quo(a.rat, b.rat), a.rounded || b.rounded}, nil
}

func modulo(a, b Value) (Value, error) {
	quotient, err := divide(a, b)
	if err != nil {
		return Value{}, err
	}
	whole := new(big.Rat).SetInt(floor(quotient.rat))
	whole.Mul(whole, b.rat)
	return Value{whole.Sub(a.rat, whole), quotient.rounded}, nil
}

// power computes a^(p/q) as the q-th root of a^p.
func power(a, b Value) (Value, error) {
	p, q := b.rat.Num(), b.rat.Denom()
	raised, err := integerPower(a.rat, p)
	if err != nil {
		return Value{}, err
	}
	value := Value{raised, a.rounded || b.rounded}
	if q.IsInt64() && q.Int64() == 1 {
		return value, nil
	}
	return root(value, Value{rat: new(big.Rat).SetInt(q)})
}

// integerPower checks the size of the result before computing it.
func integerPower(base *big.Rat, exponent *big.Int) (*big.Rat, error) {
	if base.Sign() == 0 && exponent.Sign() < 0 {
		return nil, errors.New("zero has no negative power")
	}
	times := new(big.Int).Abs(exponent)
	bits := int64(max(base.Num().BitLen(), base.Denom().BitLen()) - 1)
	if bits > 0 && (!times.IsInt64() || times.Int64() > maxBits/bits) {
		return nil, errTooLarge
	}
	if bits == 0 { // 0, 1 or -1: only whether the exponent is zero or odd matters
		times.SetInt64(min(int64(times.Sign()), 1) * int64(2-times.Bit(0)))
	}
	result := new(big.Rat).SetFrac(
		new(big.Int).Exp(base.Num(), times, nil),
		new(big.Int).Exp(base.Denom(), times, nil))
	if exponent.Sign() < 0 {
		result.Inv(result)
	}
	return result, nil
}

func sqrt(a Value) (Value, error) { return root(a, Value{rat: big.NewRat(2, 1)}) }

// root returns the real n-th root of a: exact if it is rational, else rounded.
func root(a, n Value) (Value, error) {
	if !n.rat.IsInt() || n.rat.Sign() <= 0 || n.rat.Cmp(big.NewRat(1000, 1)) > 0 {
		return Value{}, errors.New("roots are of whole degree from 1 to 1000; round an exponent to a simple fraction")
	}
	degree := int(n.rat.Num().Int64())
	if a.rat.Sign() < 0 {
		if degree%2 == 0 {
			return Value{}, errors.New("a negative number has no real root of even degree")
		}
		positive, err := root(negate(a), n)
		return negate(positive), err
	}
	num, numExact := integerRoot(a.rat.Num(), degree)
	den, denExact := integerRoot(a.rat.Denom(), degree)
	if numExact && denExact {
		return Value{new(big.Rat).SetFrac(num, den), a.rounded || n.rounded}, nil
	}
	// Scale by 10^(degree*digits), take the integer root, scale back. A fraction far below one needs as many
	// additional digits as it has leading zeros.
	digits := rootDigits + max(0, a.rat.Denom().BitLen()-a.rat.Num().BitLen())*3/10/degree + 1
	scaled := floor(scale(new(big.Rat).Set(a.rat), degree*digits))
	whole, _ := integerRoot(scaled, degree)
	return Value{scale(new(big.Rat).SetInt(whole), -digits), true}, nil
}

// integerRoot returns the integer part of the n-th root of x >= 0 and reports whether it is exact. It is Newton's
// method from above, which only descends.
func integerRoot(x *big.Int, n int) (*big.Int, bool) {
	if x.Sign() == 0 || n == 1 {
		return new(big.Int).Set(x), true
	}
	degree, less := big.NewInt(int64(n)), big.NewInt(int64(n-1))
	guess := aboveRoot(x, n)
	for {
		better := new(big.Int).Exp(guess, less, nil)
		better.Quo(x, better)
		better.Add(better, new(big.Int).Mul(less, guess))
		better.Quo(better, degree)
		if better.Cmp(guess) >= 0 {
			return guess, new(big.Int).Exp(guess, degree, nil).Cmp(x) == 0
		}
		guess = better
	}
}

// aboveRoot returns an upper bound close to the n-th root of x > 0. It writes x as mantissa*2^exponent and takes the
// part of the exponent that n divides out, so that the root fits into a float64.
func aboveRoot(x *big.Int, n int) *big.Int {
	mantissa := new(big.Float)
	exponent := new(big.Float).SetInt(x).MantExp(mantissa)
	m, _ := mantissa.Float64()
	near := math.Pow(math.Ldexp(m, exponent%n), 1/float64(n)) * (1 + 1e-9)
	above, _ := new(big.Float).SetMantExp(big.NewFloat(near), exponent/n).Int(nil)
	return above.Add(above, big.NewInt(1))
}

// scale multiplies r by 10^exponent in place.
func scale(r *big.Rat, exponent int) *big.Rat {
	times := new(big.Int).Exp(big.NewInt(10), new(big.Int).Abs(big.NewInt(int64(exponent))), nil)
	if exponent < 0 {
		return r.Quo(r, new(big.Rat).SetInt(times))
	}
	return r.Mul(r, new(big.Rat).SetInt(times))
}

// floor returns the largest integer that is not above r.
func floor(r *big.Rat) *big.Int {
	// Euclidean division rounds down, since the denominator is positive.
	return new(big.Int).Div(r.Num(), r.Denom())
}

func checkSize(v Value) error {
	if v.rat.Num().BitLen() > maxBits || v.rat.Denom().BitLen() > maxBits {
		return errTooLarge
	}
	return nil
}
